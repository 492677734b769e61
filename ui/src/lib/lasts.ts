/** How long something took, in the two units that say most. */
export function lasts(ms: number): string {
  const s = Math.max(0, Math.round(ms / 1000));
  if (ms > 0 && ms < 1000) return `${Math.round(ms)} ms`;
  if (s < 60) return `${s} s`;
  if (s < 3_600) return `${Math.floor(s / 60)} min ${s % 60} s`;
  if (s < 86_400) return `${Math.floor(s / 3_600)} h ${Math.floor((s % 3_600) / 60)} min`;
  return `${Math.floor(s / 86_400)} d ${Math.floor((s % 86_400) / 3_600)} h`;
}
