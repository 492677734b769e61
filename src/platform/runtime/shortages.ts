/** What the system says when the host has no process, file or memory left, for whomever. */
export const HOST_SHORT: ReadonlySet<string> = new Set(['EAGAIN', 'EMFILE', 'ENFILE', 'ENOMEM']);
/** What it says of a moment, and not of what was asked for. */
const OF_A_MOMENT: ReadonlySet<string> = new Set([...HOST_SHORT, 'ENOSPC']);

/** Whether the host itself was short of something: the next start would fail as well. */
export function isHostShort(error: unknown): boolean {
  return says(HOST_SHORT, error);
}

/** Whether another moment may be better, be it for a full disk. */
export function isOfAMoment(error: unknown): boolean {
  return says(OF_A_MOMENT, error);
}

function says(codes: ReadonlySet<string>, error: unknown): boolean {
  return error instanceof Error && (codes.has((error as NodeJS.ErrnoException).code ?? '') || says(codes, error.cause));
}
