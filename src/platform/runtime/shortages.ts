/** What the system says when the host has no process, file or memory left, for whomever. */
export const HOST_SHORT: ReadonlySet<string> = new Set(['EAGAIN', 'EMFILE', 'ENFILE', 'ENOMEM']);

/** Whether the host itself was short of something: the next start would fail as well. */
export function isHostShort(error: unknown): boolean {
  return error instanceof Error && (HOST_SHORT.has((error as NodeJS.ErrnoException).code ?? '') || isHostShort(error.cause));
}
