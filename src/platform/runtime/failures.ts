/** What the words of a failing agent mean. Only asked where something has failed: a conversation may be about rate limits. */
const RATE_LIMITED =
  /rate[ _-]?limit|usage[ _-]limit|too many requests|quota (?:exceeded|exhausted)|exceeded your (?:current )?quota|resource[ _]exhausted|insufficient_quota|\b429\b/i;
const AUTH_REQUIRED =
  /auth(?:entication)?[ _]required|not (?:logged|signed) in|please (?:log|sign) ?in|(?:invalid|missing|no) api[ _-]?key|api key (?:not|is (?:missing|invalid|required))|unauthori[sz]ed|unauthenticated|\b401\b/i;

export function failureOf(text: string): 'rate_limited' | 'auth_required' | undefined {
  if (RATE_LIMITED.test(text)) return 'rate_limited';
  if (AUTH_REQUIRED.test(text)) return 'auth_required';
  return undefined;
}

/** Characters of the end of the error output that tell why a process has ended. */
const LAST_WORDS = 2000;

/** Why a process that nobody asked to has ended. */
export function causeOfExit(code: number | null, stderrTail: string): 'clean' | 'crashed' | 'rate_limited' | 'auth_required' {
  if (code === 0) return 'clean';
  return failureOf(stderrTail.slice(-LAST_WORDS)) ?? 'crashed';
}
