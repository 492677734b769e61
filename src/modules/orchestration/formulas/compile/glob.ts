/**
 * Whether an id fits a glob: `*` stands for any characters, `?` for one, `[abc]` and `[a-z]` for one of these. Takes at
 * most the product of both lengths.
 */
export function fits(glob: string, id: string): boolean {
  const parts = glob.match(/\[[^\]]+\]|[\s\S]/g) ?? [];
  let part = 0;
  let at = 0;
  let star = -1;
  let from = 0;
  while (at < id.length) {
    if (parts[part] === '*') {
      star = part++;
      from = at;
    } else if (part < parts.length && one(parts[part]!, id[at]!)) {
      part++;
      at++;
    } else if (star >= 0) {
      part = star + 1;
      at = ++from;
    } else return false;
  }
  while (parts[part] === '*') part++;
  return part === parts.length;
}

function one(part: string, character: string): boolean {
  if (part === '?') return true;
  if (part.length === 1) return part === character;
  const negated = part[1] === '!' || part[1] === '^';
  const members = part.slice(negated ? 2 : 1, -1);
  let found = false;
  for (let n = 0; n < members.length; n++) {
    if (members[n + 1] === '-' && n + 2 < members.length) {
      if (members[n]! <= character && character <= members[n + 2]!) found = true;
      n += 2;
    } else if (members[n] === character) found = true;
  }
  return found !== negated;
}
