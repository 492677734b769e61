import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { startStack, type Stack } from './app.js';
import { writeCrew } from './crew.js';
import { api, type Api, type Reply } from './http.js';
import { Ledger } from './ledger.js';
import { expectRefusal, type Refusal } from './refusal.js';

/** The crew's city behind two replicas, with its files within reach. */
export class CrewCity {
  private constructor(
    readonly stack: Stack,
    readonly a: Api,
    readonly b: Api,
  ) {}

  static async open(): Promise<CrewCity> {
    const stack = await startStack();
    const [a, b] = stack.urls.map((url) => api(url)) as [Api, Api];
    const ledger = await Ledger.open(stack);
    await ledger.succeeded(await a.post('/v0/city', { dir: 'crew', provider: 'loopback' }), 'request.result.city.create');
    await ledger.stream.close();
    await writeCrew(join(stack.citiesRoot, 'crew'));
    const crew = new CrewCity(stack, a, b);
    const reloaded = await a.post(crew.path('config/reload'));
    if (reloaded.status !== 200) throw new Error(reloaded.text);
    return crew;
  }

  path(rest: string): string {
    return `/v0/city/crew/${rest}`;
  }

  file(name: string): string {
    return join(this.stack.citiesRoot, 'crew', name);
  }

  text(name: string): Promise<string> {
    return readFile(this.file(name), 'utf8');
  }

  async events(type: string, subject?: string): Promise<{ subject: string; actor: string; payload: object }[]> {
    const about = subject === undefined ? '' : `&subject=${subject}`;
    return (await this.b.get(this.path(`events?after_seq=0&limit=1000&type=${type}${about}`))).body.items;
  }

  async revision(): Promise<number> {
    return (await this.a.get(this.path('config'))).body.revision as number;
  }

  /** Refused, and neither the files nor the revision have moved. */
  async refuses(method: string, rest: string, body: unknown, wanted: Refusal, headers = {}): Promise<void> {
    const state = async (): Promise<unknown[]> =>
      Promise.all([this.revision(), this.text('city.toml'), this.text('pack.toml'), readdir(this.file('agents'))]);
    const before = await state();
    expectRefusal(await this.a.send(method, this.path(rest), body, headers), this.path(rest), wanted);
    if (JSON.stringify(await state()) !== JSON.stringify(before)) throw new Error(`${method} ${rest} was refused and changed something`);
  }

  async close(): Promise<void> {
    await this.stack.stop();
  }
}

export const namesIn = (reply: Reply): string[] => (reply.body.items as { name: string }[]).map(({ name }) => name);
