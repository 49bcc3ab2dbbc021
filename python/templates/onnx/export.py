"""Writes model.onnx. Run it on your own machine, not in the jail:

    pip install numpy onnx
    python3 export.py

This network is untrained: its action is always zero. It has the right input and output, so that everything else can
be tried; replace `layers` by the weights of your trained network. A PyTorch module is exported in one call instead:

    torch.onnx.export(module.eval(), torch.zeros(1, STATE_DIM), "model.onnx",
                      input_names=["state"], output_names=["action"], opset_version=17)
"""
# /// script
# requires-python = ">=3.11"
# dependencies = ["numpy", "onnx>=1.16"]
# ///

import pathlib
import sys

try:
    import numpy as np
    import onnx
    from onnx import TensorProto, helper, numpy_helper
except ModuleNotFoundError as error:
    sys.exit(f"the package {error.name} is missing: pip install numpy onnx (or: uv run export.py)")

MODEL = pathlib.Path(__file__).with_name("model.onnx")
STATE_DIM, ACTION_DIM, HIDDEN = {{state_dim}}, {{dim}}, 64


def layers():
    """Returns matrix and bias of each layer of a multilayer perceptron with tanh between the layers."""
    random = np.random.default_rng(0)
    return [
        (random.normal(0, STATE_DIM**-0.5, (STATE_DIM, HIDDEN)), np.zeros(HIDDEN)),
        (np.zeros((HIDDEN, ACTION_DIM)), np.zeros(ACTION_DIM)),
    ]


def graph(weights):
    """Returns the network as an ONNX graph: input `state`, output `action`."""
    nodes, constants, value = [], [], "state"
    for index, (matrix, bias) in enumerate(weights):
        is_last = index == len(weights) - 1
        names = [f"matrix{index}", f"bias{index}"]
        for name, part in zip(names, (matrix, bias)):
            constants.append(numpy_helper.from_array(part.astype(np.float32), name))
        output = "action" if is_last else f"sum{index}"
        nodes.append(helper.make_node("Gemm", [value, *names], [output]))
        if not is_last:
            value = f"hidden{index}"
            nodes.append(helper.make_node("Tanh", [output], [value]))
    inputs = [helper.make_tensor_value_info("state", TensorProto.FLOAT, [1, STATE_DIM])]
    outputs = [helper.make_tensor_value_info("action", TensorProto.FLOAT, [1, ACTION_DIM])]
    return helper.make_graph(nodes, "policy", inputs, outputs, constants)


def main():
    # Versions that ONNX Runtime 1.20 can read.
    model = helper.make_model(graph(layers()), opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    onnx.checker.check_model(model)
    MODEL.write_bytes(model.SerializeToString())
    print(f"wrote {MODEL}: {STATE_DIM} numbers in, {ACTION_DIM} out")


if __name__ == "__main__":
    main()
