// What all parts of the page use: its data, and elements whose content is text.

const found = (id) => document.getElementById(id);
const data = JSON.parse(found("data").textContent);

function element(name, content, attributes = {}) {
  const made = document.createElement(name);
  made.append(content);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  return made;
}
