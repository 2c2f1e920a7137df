"""Collects the features of every batch, as tensors."""

import tensorflow as tf
from tensorflow import keras

encoder = keras.Sequential(
    [
        keras.layers.Conv2D(32, 3, padding="same", activation="relu"),
        keras.layers.Conv2D(64, 3, padding="same", activation="relu"),
    ],
    name="encoder",
)
feature_bank = []
for step in range(500):
    images = tf.random.uniform((8, 64, 64, 3))
    features = encoder(images)
    feature_bank.append(features)
    if step % 10 == 0:
        print("step", step, float(tf.reduce_mean(features)))
