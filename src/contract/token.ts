/** The text form of page tokens: `v1:` and base64url of a small JSON object. */
const PREFIX = 'v1:';

export function encodeToken(token: object): string {
  return PREFIX + Buffer.from(JSON.stringify(token)).toString('base64url');
}

/** The members of a token; undefined for any other text. What they mean is the list's to check. */
export function decodeToken(text: string): Readonly<Record<string, unknown>> | undefined {
  if (!text.startsWith(PREFIX) || !/^[A-Za-z0-9_-]+$/.test(text.slice(PREFIX.length))) return undefined;
  try {
    const value: unknown = JSON.parse(Buffer.from(text.slice(PREFIX.length), 'base64url').toString());
    if (typeof value !== 'object' || value === null) return undefined;
    // None that we have made has what no text of the database can have.
    const isOurs = Object.values(value).every((member) => typeof member !== 'string' || (!member.includes('\0') && member.isWellFormed()));
    return isOurs ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}
