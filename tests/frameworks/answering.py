"""Run in a framework's own environment: answer the questions of many tests in one process.

PYTHONPATH=node.pyz python answering.py

Each line of stdin is a JSON list: the name of a script of this folder, and words for its `main`. The answer is a line
of JSON: what `main` returns. After an error the process ends, since other ranks may wait for this one.
"""

import faulthandler
import importlib
import json
import os
import sys
import traceback

STUCK_S = 240  # after which a question prints what it waits for; asking.py waits for 300 s


def answer(answers):
    """Answer one question after another."""
    for line in sys.stdin:
        script, *words = json.loads(line)
        faulthandler.dump_traceback_later(STUCK_S, file=sys.stderr)
        found = importlib.import_module(script).main(*words)
        faulthandler.cancel_dump_traceback_later()
        answers.write(json.dumps(found) + "\n")
        answers.flush()
        forget_external_models()


def forget_external_models():
    """Undo the layout and data type that an external model of Keras chooses: a worker has one model."""
    layers = sys.modules.get("hpcbench_carried.node.frameworks.keras.layers")
    if layers:
        layers.keras.config.set_image_data_format(layers.LAYOUT)
        layers.keras.config.set_floatx("float32")


if __name__ == "__main__":
    own = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # frameworks print, too
    try:
        answer(own)
    except Exception:
        traceback.print_exc()
        sys.stderr.flush()
    os._exit(1)  # as the node code does: other ranks may have gone already
