//! The picture and the sound of the fixtures, in base64.

/// A PNG of one blue pixel.
pub const PICTURE: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR42mNQaDgAAAIkAWHj6Uk8AAAAAElFTkSuQmCC";

/// A WAV of a millisecond of silence.
pub const SOUND: &str = "UklGRiwAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQgAAACAgICAgICAgA==";
