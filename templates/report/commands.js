// Commands that can be copied.

for (const command of document.querySelectorAll(".command pre")) {
  const button = element("button", "Copy", { type: "button" });
  button.addEventListener("click", () => copy(command.textContent, button));
  command.after(button);
}
