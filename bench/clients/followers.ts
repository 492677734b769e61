import { createParser } from 'eventsource-parser';
import { Agent, get } from 'node:http';
import { serve } from '../lib/rpc.js';

/** Many subscribers of many sessions; each keeps what it was told as a program would: turns by their ids, the last word counts. */

interface Following {
  readonly port: number;
  readonly city: string;
  readonly sessions: readonly string[];
  /** Of each session. */
  readonly subscribers: number;
}

interface Turn {
  readonly id: string;
  readonly role: string;
  readonly text: string;
}

const agent = new Agent({ keepAlive: false });
const folds = new Map<string, Map<string, string>[]>();
let frames = 0;
let ended = 0;

async function follow({ port, city, sessions, subscribers }: Following): Promise<void> {
  for (const session of sessions) {
    const own: Map<string, string>[] = [];
    folds.set(session, own);
    await Promise.all(Array.from({ length: subscribers }, () => open(port, `/v0/city/${city}/session/${session}/stream`, own)));
  }
}

function open(port: number, path: string, own: Map<string, string>[]): Promise<void> {
  const turns = new Map<string, string>();
  own.push(turns);
  const parser = createParser({
    onEvent: ({ event, data }) => {
      frames++;
      if (event !== 'turn') return;
      for (const { id, role, text } of (JSON.parse(data) as { turns: Turn[] }).turns) if (role === 'assistant') turns.set(id, text);
    },
  });
  return new Promise((resolve, reject) => {
    get({ agent, host: '127.0.0.1', port, path, headers: { accept: 'text/event-stream' } }, (response) => {
      if (response.statusCode !== 200) return reject(new Error(`${path} answers ${response.statusCode}`));
      response.setEncoding('utf8');
      response.on('data', (text: string) => parser.feed(text));
      response.on('close', () => ended++);
      resolve();
    }).on('error', reject);
  });
}

/** How many subscribers have exactly this text of their session, and how many have something else. */
function compare({ text }: { text: string }): { same: number; other: number; example: string | undefined; frames: number; ended: number } {
  let same = 0;
  let example: string | undefined;
  let other = 0;
  for (const [session, own] of folds) {
    for (const turns of own) {
      const said = [...turns.values()].join('');
      if (said === text) same++;
      else {
        other++;
        example ??= `${session}: ${said.length} characters instead of ${text.length}: …${said.slice(-60)}`;
      }
    }
  }
  return { same, other, example, frames, ended };
}

serve({ follow, compare });
