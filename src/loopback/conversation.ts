import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { env, pid } from 'node:process';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';

export interface Said {
  readonly role: 'user' | 'agent';
  readonly text: string;
}

const ID = /^[0-9a-f-]{36}$/;

/** What was said, kept in a file so that another process can go on with it. */
export class Conversation {
  private constructor(
    readonly id: string,
    readonly said: Said[],
  ) {}

  static begin(): Conversation {
    const conversation = new Conversation(crypto.randomUUID(), []);
    conversation.#save();
    return conversation;
  }

  /** Undefined when there is none of this id. */
  static find(id: string): Conversation | undefined {
    if (!ID.test(id)) return undefined;
    try {
      return new Conversation(id, JSON.parse(readFileSync(fileOf(id), 'utf8')) as Said[]);
    } catch {
      return undefined;
    }
  }

  get prompts(): number {
    return this.said.filter(({ role }) => role === 'user').length;
  }

  add(role: Said['role'], text: string): void {
    this.said.push({ role, text });
    this.#save();
  }

  #save(): void {
    const file = fileOf(this.id);
    const next = `${file}.${pid}`;
    writeFileSync(next, JSON.stringify(this.said));
    renameSync(next, file);
  }
}

function fileOf(id: string): string {
  const runtimeDir = env.SVC_CITY_RUNTIME_DIR;
  const dir =
    runtimeDir === undefined || runtimeDir === '' ? join(tmpdir(), `svc-loopback-${userInfo().uid}`) : join(runtimeDir, 'loopback');
  mkdirSync(dir, { recursive: true, mode: 0o700 });
  return join(dir, `${id}.json`);
}
