import { TooDear } from '../../../platform/threads/thread.js';
import { INLINE_COST, type Threads } from '../../../platform/threads/threads.js';
import type { Issue } from '../../files/composition/issue.js';
import { carried, sizeOf, unpacked } from '../../files/composition/toml/carried.js';
import { editToml, TomlEditError } from '../../files/composition/toml/edit.js';
import { parseToml } from '../../files/composition/toml/parse.js';
import { editing, parsing } from '../../files/composition/toml/toml-tasks.js';
import type { Document } from './documents.js';
import { tooDear } from './refusals.js';

/** Texts of this many characters are parsed while one of them is edited. */
const PARSED_WHILE_EDITED = 8;

/** TOML of one city: a short text at once, any other in a thread. */
export class TomlWork {
  constructor(
    private readonly threads: Threads,
    private readonly city: string,
  ) {}

  /** @throws ProblemError validation_failed when parsing takes too much */
  async parse(text: string, file: string): Promise<{ document: Document } | { issue: Issue }> {
    if (text.length / PARSED_WHILE_EDITED <= INLINE_COST) {
      const issues: Issue[] = [];
      const document = parseToml(text, file, issues);
      return document === undefined ? { issue: issues[0]! } : { document };
    }
    const done = await this.#run(file, () => this.threads.run({ task: parsing, owner: this.city, input: { text, file } }));
    return 'issue' in done ? done : { document: unpacked(done.document) as Document };
  }

  /** @throws TomlEditError when there is no way to write it, ProblemError validation_failed when that takes too much */
  async edit(text: string, file: string, document: Document): Promise<string> {
    if (text.length + sizeOf(document, INLINE_COST) <= INLINE_COST) return editToml(text, document);
    const input = { text, document: carried(document) };
    const done = await this.#run(file, () => this.threads.run({ task: editing, owner: this.city, input }));
    if ('text' in done) return done.text;
    throw new TomlEditError(done.refused);
  }

  async #run<T>(file: string, work: () => Promise<T>): Promise<T> {
    return work().catch((error: unknown) => {
      throw error instanceof TooDear ? tooDear(file, error) : error;
    });
  }
}
