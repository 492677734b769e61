import { closeSync, fstatSync, ftruncateSync, openSync, readFileSync, renameSync, statSync, writeFileSync, writeSync } from 'node:fs';
import type { Random } from './random.js';
import type { Recorder } from './recorder.js';
import { sleep } from './sleep.js';

const BROKEN = '\nchaos = [\n';
const OWN = /^max_total = \d+$/m;
const TRIES = 50;

/**
 * Somebody who edits `city.toml` of a few cities by hand, as editors do: a new file renamed over the old one, or the same file
 * written again. They own one key, which they count up; now and then what they save is no TOML for a moment.
 */
export class ConfigEditor {
  #value = 100_000;
  #stopped = false;
  readonly #broken = new Set<string>();
  #loop: Promise<void> | undefined;

  constructor(
    private readonly root: string,
    private readonly cities: readonly string[],
    private readonly random: Random,
    private readonly recorder: Recorder,
  ) {}

  start(pauseMs: number): void {
    this.#loop = this.#run(pauseMs);
  }

  /** Leaves no file broken. */
  async stop(): Promise<void> {
    this.#stopped = true;
    await this.#loop;
    for (const city of [...this.#broken]) await this.#save(city, false);
  }

  async #run(pauseMs: number): Promise<void> {
    while (!this.#stopped) {
      await sleep(this.random.int(pauseMs / 4, pauseMs * 2));
      const city = this.random.pick(this.cities);
      await this.#save(city, !this.#broken.has(city) && this.random.chance(0.12));
      if (!this.#broken.has(city)) continue;
      await sleep(this.random.int(50, 500));
      await this.#save(city, false);
    }
  }

  /** Until it stays saved: whoever sees at once that the file is another one does it again. */
  async #save(city: string, broken: boolean): Promise<void> {
    const file = `${this.root}/${city}/city.toml`;
    const value = this.#value++;
    for (let tries = 0; tries < TRIES; tries++) {
      const how = this.random.chance(0.5) ? 'renamed' : 'in place';
      const from = this.recorder.now();
      try {
        const text = how === 'renamed' ? this.#rename(file, value, broken) : this.#overwrite(file, value, broken);
        const kept = [...new Set(text?.match(/\bc\d+-\d+\b/g))];
        const to = this.recorder.now();
        if (text !== undefined) {
          if (broken) this.#broken.add(city);
          else this.#broken.delete(city);
          this.recorder.history.saves.push({ city, value, how, from, to, kept, ...(broken ? { broken } : {}) });
          return;
        }
      } catch (error) {
        // While an edit takes the place of the file there is none for a moment.
        if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
      }
      await sleep(2);
    }
    throw new Error(`${file} cannot be saved: it keeps being replaced`);
  }

  #rename(file: string, value: number, broken: boolean): string {
    const text = edited(readFileSync(file, 'utf8'), value, broken);
    writeFileSync(`${file}~`, text);
    renameSync(`${file}~`, file);
    return text;
  }

  /** Undefined when the file that was written is no longer the one of that name. */
  #overwrite(file: string, value: number, broken: boolean): string | undefined {
    const handle = openSync(file, 'r+');
    try {
      const before = readFileSync(handle, 'utf8');
      const text = edited(before, value, broken);
      // Longer than before or of the same length but for mending: a reader never finds half of it.
      writeSync(handle, text, 0);
      if (text.length < before.length) ftruncateSync(handle, Buffer.byteLength(text));
      return statSync(file).ino === fstatSync(handle).ino ? text : undefined;
    } finally {
      closeSync(handle);
    }
  }
}

function edited(before: string, value: number, broken: boolean): string {
  const whole = before.replace(BROKEN, '');
  const line = `max_total = ${value}`;
  const text = OWN.test(whole) ? whole.replace(OWN, line) : `${whole.trimEnd()}\n\n[convergence]\n${line}\n`;
  return broken ? text + BROKEN : text;
}
