export const NUDGE_LIFETIME_MS = 3_600_000;

/** What a session is told that has work to do: the beads by id, the first ones when they are many. */
export function nudgeText(beads: readonly string[]): string {
  const named = beads.join(', ');
  return `There is work for you: ${named}. Look at your hook, claim what is there and carry it out; when nothing is left, end your turn.`;
}
