import { problem } from '../../../contract/problems.js';
import type { CityConfig } from '../../files/composition/city-config.js';
import { TomlEditError } from '../../files/composition/toml/edit.js';
import type { DiskTree } from '../../files/composition/trees/disk-tree.js';
import { TreeFailure } from '../../files/composition/trees/file-tree.js';
import type { Overlay } from '../../files/composition/trees/overlay-tree.js';
import type { Document } from './documents.js';
import { hashOf, type EditPlan } from './edit-plan.js';
import type { TomlWork } from './toml-work.js';

/** The files of a city as one edit sees and changes them. Nothing is written before the whole edit has been composed. */
export class Draft {
  readonly #before = new Map<string, string | undefined>();
  readonly #after = new Map<string, string>();
  readonly #removed = new Set<string>();
  readonly #gone: Record<string, string> = {};

  constructor(
    /** What the city runs before the edit. */
    readonly current: CityConfig,
    private readonly tree: DiskTree,
    private readonly toml: TomlWork,
  ) {}

  /** The text of a file as the edit leaves it; undefined when there is none. */
  async text(file: string): Promise<string | undefined> {
    if (this.#after.has(file)) return this.#after.get(file);
    if (!this.#before.has(file)) this.#before.set(file, await this.#read(file));
    return this.#before.get(file);
  }

  /** The parsed document of a TOML file, to be changed and given to `put`; empty when there is no file. */
  async document(file: string): Promise<Document> {
    const text = await this.text(file);
    if (text === undefined) return {};
    const parsed = await this.toml.parse(text, file);
    if ('document' in parsed) return parsed.document;
    const { line, message } = parsed.issue;
    throw problem('wrong_state', line === undefined ? `${file} ${message}` : `${file} does not parse (line ${line}); mend it first`);
  }

  /** Makes the file say `document`; format and comments of whatever stays the same are kept. */
  async put(file: string, document: Document): Promise<void> {
    const text = (await this.text(file)) ?? '';
    try {
      this.#after.set(file, await this.toml.edit(text, file, document));
    } catch (error) {
      if (!(error instanceof TomlEditError)) throw error;
      throw problem('wrong_state', `${file} cannot be changed without losing its format; change it by hand`, { cause: error });
    }
  }

  /** Changes a document in place: `change` alters it and may answer something. */
  async edit<T>(file: string, change: (document: Document) => T): Promise<T> {
    const document = await this.document(file);
    const answer = change(document);
    await this.put(file, document);
    return answer;
  }

  async write(file: string, text: string): Promise<void> {
    await this.text(file);
    this.#after.set(file, text);
  }

  /** Takes a folder away with everything in it. */
  remove(folder: string): void {
    this.#removed.add(folder);
  }

  /** Takes a file away, while it holds what was read. @throws ProblemError wrong_state for one that cannot be read */
  async removeFile(file: string): Promise<void> {
    const text = await this.text(file);
    if (text === undefined) return;
    this.#removed.add(file);
    this.#gone[file] = hashOf(text);
  }

  /** True when there is a file or a folder of this name. */
  async has(path: string): Promise<boolean> {
    if ((await this.text(path).catch(() => undefined)) !== undefined) return true;
    const at = path.lastIndexOf('/');
    const folder = at < 0 ? '' : path.slice(0, at);
    const entries = await guarded(folder, this.tree.list(folder));
    return entries.some((entry) => entry.name === path.slice(at + 1));
  }

  overlay(): Overlay {
    return { texts: this.#after, removed: this.#removed };
  }

  /** What is to be written; files that stay as they are are no part of it. */
  plan(id: string): EditPlan {
    const writes = [...this.#after].flatMap(([path, after]) => {
      const before = this.#before.get(path);
      return before === after ? [] : [{ path, before: before ?? null, after }];
    });
    return { id, writes, removals: [...this.#removed], removed: { ...this.#gone } };
  }

  #read(file: string): Promise<string | undefined> {
    return guarded(file, this.tree.read(file));
  }
}

/** @throws ProblemError wrong_state for files that may not be read as they are */
async function guarded<T>(path: string, reading: Promise<T>): Promise<T> {
  try {
    return await reading;
  } catch (error) {
    if (!(error instanceof TreeFailure)) throw error;
    throw problem('wrong_state', `${path} cannot be used: ${error.message}`, { cause: error });
  }
}
