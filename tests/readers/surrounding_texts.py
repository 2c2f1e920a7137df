"""What stands above and below a message of TensorFlow's in real logs, from runs of our own: headers of Keras
and tf.function, frames of notebooks, progress bars, warnings, tables.
"""

KERAS_3_CALL = """\
Exception encountered when calling PairDistance.call().

"""
GRAPH_EXECUTION = """\
Graph execution error:

Detected at node functional_1/enc2_1/Relu defined at (most recent call last):
  File "fit_conv.py", line 12, in <module>

  File "/usr/lib/python3.11/site-packages/keras/src/utils/traceback_utils.py", line 117, in error_handler

"""
NOTEBOOK_FRAMES = """\
---------------------------------------------------------------------------
ResourceExhaustedError                    Traceback (most recent call last)
Cell In[12], line 27
     25 model.compile(optimizer="adam", loss="mse", jit_compile=False)
     26 callbacks = [keras.callbacks.EarlyStopping(patience=3)]
---> 27 history = model.fit(train, epochs=20, callbacks=callbacks)

File /usr/lib/python3.11/site-packages/keras/src/utils/traceback_utils.py:122, in error_handler(*args, **kwargs)
    119     filtered_tb = _process_traceback_frames(e.__traceback__)
--> 122     raise e.with_traceback(filtered_tb) from None

"""
PROGRESS = """\
Epoch 1/20
 12%|#2        | 120/1000 [00:31<03:51,  3.81it/s]
120/1000 [==>...........................] - ETA: 3:51 - loss: 0.6931
"""
RETRACING = """\
WARNING:tensorflow:5 out of the last 5 calls to <function step at 0x7f1c2c0d5e10> triggered tf.function retracing. \
Tracing is expensive and the excessive number of tracings could be due to (1) creating @tf.function repeatedly in a \
loop, (2) passing tensors with different shapes, (3) passing Python objects instead of tensors.
"""
NVIDIA_SMI = """\
+-----------------------------------------------------------------------------------------+
| NVIDIA-SMI 550.54.15              Driver Version: 550.54.15      CUDA Version: 12.4     |
|-----------------------------------------+------------------------+----------------------+
| GPU  Name                 Persistence-M | Bus-Id          Disp.A | Volatile Uncorr. ECC |
| Fan  Temp   Perf          Pwr:Usage/Cap |           Memory-Usage | GPU-Util  Compute M. |
|=========================================+========================+======================|
|   0  Tesla T4                       Off |   00000000:00:04.0 Off |                    0 |
| N/A   49C    P0              27W /  70W |    1500MiB /  15360MiB |      0%      Default |
+-----------------------------------------------------------------------------------------+
"""
PROSE = """\
My training stops after a few steps. I call model.fit( with batch 32 and jit_compile=True, and get this:
"""
ARGUMENTS = """

Arguments received by PairDistance.call():
  • a=tf.Tensor(shape=(8, 700, 32), dtype=float32)
  • training=True
"""
DURING = """
During handling of the above exception, another exception occurred:

Traceback (most recent call last):
  File "train.py", line 88, in <module>
    main()
  File "train.py", line 80, in main
    cleanup()
RuntimeError: cleanup failed
"""

ABOVE = {
    "a header of Keras 3": KERAS_3_CALL,
    "a header of tf.function": GRAPH_EXECUTION,
    "frames of a notebook": NOTEBOOK_FRAMES,
    "progress": PROGRESS,
    "a warning of retracing": RETRACING,
    "a table of nvidia-smi": NVIDIA_SMI,
    "prose": PROSE,
}
BELOW = {
    "arguments": ARGUMENTS,
    "another exception": DURING,
    "progress below": PROGRESS,
    "a table of nvidia-smi below": NVIDIA_SMI,
}
