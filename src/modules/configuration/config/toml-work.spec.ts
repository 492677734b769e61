import { afterEach, expect, it } from '@jest/globals';
import { ThreadOptions, Threads } from '../../../platform/threads/threads.js';
import { editToml, TomlEditError } from '../../files/composition/toml/edit.js';
import { parseToml } from '../../files/composition/toml/parse.js';
import type { Document } from './documents.js';
import { TomlWork } from './toml-work.js';

let threads: Threads;
/** Tasks that went to threads. */
let asked: string[];

function work(options: Partial<ThreadOptions> = {}): TomlWork {
  threads = new Threads(options instanceof ThreadOptions ? options : new ThreadOptions(options));
  asked = [];
  const run = threads.run.bind(threads);
  threads.run = (request) => {
    asked.push(request.task.name);
    return run(request);
  };
  return new TomlWork(threads, 'alpha');
}

afterEach(() => threads.stop());

const KINDS = `# dates
a = 1979-05-27
b = 07:32:00
c = 1979-05-27T07:32:00
d = 1979-05-27T00:32:00-07:00
[e.f]
g = [inf, -0.0, 1.5, true, { h = 2000-01-01 }] # kept
`;
const LARGE = KINDS + Array.from({ length: 6_000 }, (_, n) => `k${n} = ${n} # the ${n}th\n`).join('');

async function documentOf(toml: TomlWork, text: string): Promise<Document> {
  const parsed = await toml.parse(text, 'city.toml');
  if ('issue' in parsed) throw new Error(parsed.issue.message);
  return parsed.document;
}

it('a short file needs no thread', async () => {
  const toml = work();
  const document = await documentOf(toml, KINDS);
  document.new = 1;
  expect(await toml.edit(KINDS, 'city.toml', document)).toBe(editToml(KINDS, document));
  expect(asked).toEqual([]);
});

it('a long one is parsed and edited in a thread as it is elsewhere, while the loop goes on', async () => {
  const toml = work();
  let fired = 0;
  const timer = setInterval(() => fired++, 1);
  const document = await documentOf(toml, LARGE);
  expect(document).toEqual(parseToml(LARGE, 'city.toml', []));
  expect(Object.getPrototypeOf(document.e)).toBeNull();
  document.k5 = 'five';
  (document.e as Document).d = document.d;
  const before = fired;
  const edited = await toml.edit(LARGE, 'city.toml', document);
  clearInterval(timer);
  expect(fired - before).toBeGreaterThan(5);
  expect(edited).toBe(editToml(LARGE, document));
  expect(edited).toContain('\nd = 1979-05-27T00:32:00-07:00\n');
  expect(edited).toContain('# the 5th');
  expect(asked).toEqual(['parsing', 'editing']);
});

it('a short file with much to write goes to a thread, too', async () => {
  const toml = work();
  const document = { list: Array.from({ length: 5_000 }, (_, n) => `item ${n}`) };
  expect(await toml.edit('', 'city.toml', document)).toBe(editToml('', document));
  expect(asked).toEqual(['editing']);
});

it('tells what is wrong as elsewhere', async () => {
  const toml = work();
  const text = `${LARGE}[broken\n`;
  const issues: object[] = [];
  parseToml(text, 'city.toml', issues as never);
  expect(await toml.parse(text, 'city.toml')).toEqual({ issue: issues[0] });
  await expect(toml.edit(LARGE, 'city.toml', { a: null })).rejects.toThrow(TomlEditError);
});

it('what takes too long is refused, and the next one is not', async () => {
  const limits = new ThreadOptions({ busyMs: 100 });
  const toml = work(limits);
  const document = Object.fromEntries(Object.entries(parseToml(LARGE, 'city.toml', [])!).map(([key, value]) => [key, [value]]));
  await expect(toml.edit(LARGE, 'city.toml', document)).rejects.toMatchObject({
    problem: 'validation_failed',
    kind: { status: 422 },
    detail: expect.stringMatching(/city\.toml: what is to be done with it takes more than 0\.1 s of work/),
  });
  // How long a thread takes to begin, and a small edit, is up to the machine.
  Object.assign(limits, { busyMs: 60_000 });
  expect(await toml.edit(KINDS, 'city.toml', { x: 'y'.repeat(10_000) })).toContain('yyy');
});
