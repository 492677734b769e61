import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Unreadable } from '../sql-check/around.js';
import { KNOWN } from '../sql-check/known.js';
import { Reading } from '../sql-check/reading.js';
import { placeOf, Sources } from '../sql-check/sources.js';
import { statementsOf } from '../sql-check/statements.js';
import { asked } from '../sql-check/text.js';
import { wordsOf, type Words } from './breaks.js';

/** What a release asks of the database. */
export interface Asked {
  /** Each once, with the place where it is asked. */
  readonly statements: ReadonlyMap<string, string>;
  readonly words: Words;
  readonly faults: readonly string[];
}

/** Reads the sources of a commit as `npm run sql:check` reads those that lie here. */
export function askedBy(root: string, commit: string): Asked {
  const folder = mkdtempSync(join(tmpdir(), 'svc-release-'));
  try {
    const archive = execFileSync('git', ['archive', commit, 'src', 'tsconfig.json', 'package.json'], { cwd: root, maxBuffer: 2 ** 30 });
    execFileSync('tar', ['-x', '-C', folder], { input: archive });
    symlinkSync(`${root}node_modules`, join(folder, 'node_modules'));
    return askedIn(`${folder}/`);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function askedIn(root: string): Asked {
  const sources = new Sources(root, []);
  const reading = new Reading(sources);
  const statements = new Map<string, string>();
  const faults: string[] = [];
  for (const { node, text } of statementsOf(sources)) {
    const place = placeOf(node, root);
    try {
      for (const way of reading.statement(text)) statements.set(asked(way).sql, place);
    } catch (error) {
      if (!(error instanceof Unreadable)) throw error;
      const fault = `cannot be read: ${error.message}`;
      if (!KNOWN.some((one) => place.startsWith(`${one.file}:`) && fault.startsWith(one.fault))) faults.push(`${place}: ${fault}`);
    }
  }
  return { statements, words: wordsIn(`${root}src`), faults };
}

/** Tests are none of what runs, and the types of the schema name all of it. */
function wordsIn(folder: string): Words {
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter(
    (file) => file.endsWith('.ts') && !file.endsWith('spec.ts') && !file.endsWith('.gen.ts'),
  );
  return new Map(files.map((file) => [`src/${file}`, wordsOf(readFileSync(join(folder, file), 'utf8'))]));
}
