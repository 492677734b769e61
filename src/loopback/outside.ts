import { env } from 'node:process';

/** How a message from outside is told: a block in which nothing can end it, and last the command to answer with. */
const BLOCK = /<external-message ([^>]*)>\n([^]*?)\n(?:<attachment |<\/external-message>)/;
const COMMAND = /^To answer: svc extmsg send (.+) "your answer"$/;
const WORD = /(?:'[^']*'|"'"|"\$\(printf '[\\0-7]+'\)"|[^\s'"]+)+/g;
const PART = /"\$\(printf '([\\0-7]+)'\)"|'([^']*)'|"'"/g;
const SIGNS: Readonly<Record<string, string>> = { lt: '<', gt: '>', quot: '"', amp: '&' };

export interface Outside {
  readonly conversation: Readonly<Record<string, string>>;
  readonly text: string;
  readonly sequence: string;
}

/** Who somebody outside has written to, and what; undefined for what is not for this agent to answer. */
export function outsideOf(prompt: string): Outside | undefined {
  const [, attributes = '', text = ''] = BLOCK.exec(prompt) ?? [];
  const command = COMMAND.exec(prompt.trimEnd().split('\n').at(-1) ?? '')?.[1];
  if (command === undefined || !attributes.includes('from-kind="human"') || prompt.includes('\nAddressed to: ')) return undefined;
  const words = (plain(command).match(WORD) ?? []).map((word) =>
    word.replace(PART, (found, signs?: string, inner?: string) => (signs === undefined ? (inner ?? found[1]!) : printed(signs))),
  );
  const conversation: Record<string, string> = {};
  for (let n = 0; n + 1 < words.length; n += 2) conversation[words[n]!.replace(/^--/, '').replaceAll('-', '_')] = words[n + 1]!;
  return { conversation, text: plain(text), sequence: /sequence="(\d+)"/.exec(attributes)?.[1] ?? '' };
}

/** Publishes as this session, once an entry. Answers what has become of it, in words. */
export async function answer({ conversation, text, sequence }: Outside): Promise<string> {
  const { SVC_API_URL: url = '', SVC_CITY: city = '', SVC_SESSION_ID: session = '', SVC_SESSION_TOKEN: token = '' } = env;
  const body = { session_id: session, conversation, text: `echo: ${text}`, idempotency_key: `echo-${sequence}` };
  const reply = await fetch(`${url}/v0/city/${encodeURIComponent(city)}/extmsg/outbound`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json', 'x-svc-request': 'loopback' },
    body: JSON.stringify(body),
  });
  return reply.ok ? `answered outside: echo: ${text}` : `could not answer outside: ${await reply.text()}`;
}

const printed = (signs: string): string => signs.replace(/\\([0-7]{3})/g, (_found, sign: string) => String.fromCharCode(parseInt(sign, 8)));
const plain = (text: string): string => text.replace(/&(lt|gt|quot|amp);/g, (_found, name: string) => SIGNS[name]!);
