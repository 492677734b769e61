/**
 * Commits items together. One that cannot be stored fails alone: its batch is halved until it stands by itself, unless smaller ones
 * would fare no better.
 */
export async function halving<T>(
  batch: readonly T[],
  commit: (batch: readonly T[]) => Promise<void>,
  isHopeless: (error: unknown) => boolean,
  giveUp: (item: T, error: unknown) => void,
): Promise<void> {
  try {
    await commit(batch);
  } catch (error) {
    if (batch.length === 1 || isHopeless(error)) return batch.forEach((item) => giveUp(item, error));
    const half = batch.length >> 1;
    await halving(batch.slice(0, half), commit, isHopeless, giveUp);
    await halving(batch.slice(half), commit, isHopeless, giveUp);
  }
}
