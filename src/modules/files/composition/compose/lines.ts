import type { Issue } from '../issue.js';
import { keyLines, type KeyLines } from '../toml/locate.js';
import type { Run } from './run.js';

/** Characters of all files in which lines are looked for: very many small files cost as much as a large one. */
const CHARACTERS = 256 * 1024;

/** Issues with the lines of their keys. The texts are read again: that costs nothing as long as nothing is wrong. */
export async function withLines(run: Run): Promise<Issue[]> {
  const lines = new Map<string, KeyLines | undefined>();
  let left = CHARACTERS;
  const result: Issue[] = [];
  for (const issue of run.issues) {
    const source = issue.line === undefined && issue.key !== '' ? run.sources.get(issue.file) : undefined;
    if (source === undefined) {
      result.push(issue);
      continue;
    }
    if (!lines.has(issue.file)) {
      const text = await source.tree.read(source.path);
      const within = text !== undefined && (left -= text.length) >= 0;
      lines.set(issue.file, within ? keyLines(text) : undefined);
    }
    const line = lines.get(issue.file)?.(issue.key);
    const { severity, file, ...rest } = issue;
    result.push(line === undefined ? issue : { severity, file, line, ...rest });
  }
  return result;
}
