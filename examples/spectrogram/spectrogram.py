"""A spectrogram in Python: spectrogram.py OUTPUT_FOLDER.

Makes the sound of a bird that is not there, a few chirps over a hum and some noise, and takes its short-time Fourier
transform. Writes the levels in decibels, of frequencies x time, to python.bin, and the sound that is heard again to sound.wav.
"""

import argparse
import math
import wave
from pathlib import Path

import libtensor as torch

RATE, SECONDS, POINTS, HOP = 16000, 3, 512, 128


def synthesize() -> torch.Tensor:
    """A sound: chirps that rise and fall, each swelling and fading, a hum with an overtone, and noise."""
    time = torch.arange(RATE * SECONDS, dtype=torch.float64) / RATE
    sound = 0.05 * torch.sin(2 * math.pi * 120 * time) + 0.03 * torch.sin(2 * math.pi * 240 * time)
    for start in (0.3, 1.0, 1.7, 2.4):
        since = time - start
        swell = torch.exp(-((since / 0.12) ** 2))
        phase = 2 * math.pi * (3000 * since + 400 / (2 * math.pi * 5) * torch.sin(2 * math.pi * 5 * since) * 4)
        sound += 0.5 * swell * torch.sin(phase)
    position = torch.arange(RATE * SECONDS, dtype=torch.float64)
    noise = torch.sin(position * position * 12.9898) * 43758.5453
    return sound + 0.005 * (noise - torch.floor(noise) - 0.5)


def levels(sound: torch.Tensor) -> torch.Tensor:
    window = torch.signal.windows.hann(POINTS, sym=False, dtype=torch.float64)
    spectra = torch.stft(sound, POINTS, hop_length=HOP, window=window, return_complex=True)
    return 20 * torch.log10(spectra.abs().clamp_min(1e-4))


def heard_again(sound: torch.Tensor) -> torch.Tensor:
    """Returns the sound without frequencies below 1 kHz, which removes the hum."""
    window = torch.hann_window(POINTS, dtype=torch.float64)
    spectra = torch.stft(sound, POINTS, hop_length=HOP, window=window, return_complex=True)
    spectra[: POINTS * 1000 // RATE] = 0
    return torch.istft(spectra, POINTS, hop_length=HOP, window=window, length=len(sound))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("output", type=Path)
    options = parser.parse_args()
    sound = synthesize()
    (options.output / "python.bin").write_bytes(levels(sound).contiguous().numpy().tobytes())
    with wave.open(str(options.output / "sound.wav"), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(RATE)
        file.writeframes((heard_again(sound).clamp(-1, 1) * 32767).to(torch.int16).numpy().tobytes())


if __name__ == "__main__":
    main()
