import { appendFile, mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { Random } from '../../chaos/random.js';
import type { Stack } from '../app.js';
import { AdapterServer } from '../extmsg-city.js';
import { api, type Api, type Reply } from '../http.js';
import { Ledger } from '../ledger.js';
import { StormWorld, type Answered, type Kinds } from './world.js';

const CITY = `
[[rigs]]
name = "web"

[[rigs]]
name = "docs"

[[extmsg.default_route]]
provider = "routed"
agent = "mayor"

[maintenance.dolt]
enabled = true
`;
const PACK = `
[[agent]]
name = "clerk"
provider = "loopback"
prompt_template = "prompt.md"
max_active_sessions = 1

[[agent]]
name = "hand"
provider = "loopback"
dir = "web"
prompt_template = "prompt.md"
max_active_sessions = 2

[[agent]]
name = "hand"
provider = "loopback"
dir = "docs"
prompt_template = "prompt.md"
max_active_sessions = 1

[[named_session]]
name = "deacon"
template = "clerk"
`;
const FILES: Readonly<Record<string, string>> = {
  'prompt.md': 'Work.',
  'formulas/tree.toml':
    'formula = "tree"\n[[steps]]\nid = "one"\ntitle = "One"\n[[steps]]\nid = "two"\ntitle = "Two"\nneeds = ["one"]\n[[steps]]\nid = "three"\ntitle = "Three"\nneeds = ["one"]\n',
  'formulas/graph.toml':
    'formula = "graph"\n[requires]\nformula_compiler = ">=2.0.0"\n[[steps]]\nid = "look"\ntitle = "Look"\n[[steps]]\nid = "act"\ntitle = "Act"\nneeds = ["look"]\n',
  'orders/start.toml': '[order]\nformula = "tree"\ntrigger = "manual"\n',
  'orders/hand.toml': '[order]\nexec = "true"\ntrigger = "manual"\n',
  'orders/grow.toml': '[order]\nformula = "tree"\ntrigger = "event"\non = "storm.one"\ndelivery = "coalesce"\n',
  'orders/tick.toml': '[order]\nformula = "tree"\ntrigger = "cooldown"\ninterval = "1500ms"\n',
};

/** Many kinds of requests that meet in few cities at the same moment, through all replicas. */
export class Storm {
  readonly worlds: StormWorld[] = [];
  readonly random: Random;

  private constructor(
    readonly stack: Stack,
    readonly apis: readonly Api[],
    readonly ledger: Ledger,
    readonly adapter: AdapterServer,
    seed: number,
  ) {
    this.random = new Random(seed);
  }

  static async open(stack: Stack, seed: number, cities: readonly string[]): Promise<Storm> {
    const apis = stack.urls.map((url) => api(url));
    const storm = new Storm(stack, apis, await Ledger.open(stack), await AdapterServer.open(), seed);
    for (const name of cities) await storm.#city(name);
    return storm;
  }

  async #city(name: string): Promise<void> {
    const [a] = this.apis as [Api];
    await this.ledger.succeeded(await a.post('/v0/city', { dir: name, provider: 'loopback' }), 'request.result.city.create');
    const at = (path: string): string => join(this.stack.citiesRoot, name, path);
    for (const [path, text] of Object.entries(FILES)) {
      await mkdir(dirname(at(path)), { recursive: true });
      await writeFile(at(path), text);
    }
    await appendFile(at('city.toml'), CITY);
    await appendFile(at('pack.toml'), PACK);
    await mkdir(at('web'));
    await mkdir(at('docs'));
    await appendFile(at('.gc/site.toml'), '\n[[rig]]\nname = "web"\npath = "web"\n\n[[rig]]\nname = "docs"\npath = "docs"\n');
    const done = async (reply: Promise<Reply>): Promise<void> => {
      const { status, text } = await reply;
      if (status >= 300) throw new Error(text);
    };
    await done(a.post(`/v0/city/${name}/config/reload`));
    for (const provider of ['chat', 'routed'])
      await done(a.post(`/v0/city/${name}/extmsg/adapters`, { provider, account_id: 'default', callback_url: this.adapter.url }));
    this.worlds.push(new StormWorld(name, this.random.fork()));
  }

  /** Makes a bead on which so many depend. */
  async widen(world: StormWorld, count: number): Promise<void> {
    const make = async (body: object): Promise<string> => {
      const { status, text, body: made } = await this.apis[0]!.post(world.path('beads'), body);
      if (status !== 201) throw new Error(text);
      return made.id as string;
    };
    world.hub = await make({ title: 'hub' });
    for (let n = 0; n < count; n += 30) {
      const some = Array.from({ length: Math.min(30, count - n) }, () => make({ title: 'dependent', needs: [world.hub] }));
      world.dependents.push(...(await Promise.all(some)));
    }
  }

  /** So many moves of these kinds at once. */
  round(kinds: Kinds, count: number, world = this.worlds): Promise<Answered>[] {
    const list = Object.entries(kinds);
    const total = list.reduce((sum, [, [weight]]) => sum + weight, 0);
    const drawn = Array.from({ length: count }, () => {
      let left = this.random.next() * total;
      const [kind, [, make]] = list.find(([, [weight]]) => (left -= weight) < 0) ?? list.at(-1)!;
      return { kind, move: make(this.random.pick(world)) };
    });
    const sent = drawn.flatMap(({ kind, move }) => {
      const first = this.random.int(0, this.apis.length - 1);
      const at = move.both === true ? [...this.apis.keys()] : [first];
      return at.map(async (n): Promise<Answered> => {
        const { method, path, body, headers } = move;
        const reply = await this.apis[n]!.send(method, path, body, headers);
        if (reply.status < 300) move.learn?.(reply.body);
        return { kind, move, reply };
      });
    });
    return sent;
  }

  async close(): Promise<void> {
    await this.ledger.stream.close();
    await this.adapter.close();
  }
}
