import { FAILPOINTS, Failpoints, type FailpointAction, type FailpointName } from './failpoints.js';

/** What a dropped failpoint throws: the caller treats it like any failure at that place. */
export class FailpointError extends Error {
  constructor(name: string) {
    super(`failpoint ${name}`);
    this.name = 'FailpointError';
  }
}

const ENTRY = /^(?<name>[a-z._]+)=(?<action>kill|drop|delay)(?::(?<args>[0-9.:]+))?$/;

/**
 * Failpoints armed as `SVC_TEST_FAILPOINTS` says: comma-separated `name=kill[:probability]`, `name=drop[:probability]`
 * or `name=delay:milliseconds[:probability]`. Killing is SIGKILL to this process, at that very place. Undefined when
 * nothing is to be armed.
 *
 * @throws Error naming the entry that cannot be understood: a test that arms nothing would prove nothing.
 * @example armedFailpoints('operation.before_finish=kill:0.05,notify.before=drop:0.5,tx.after_commit=delay:200:0.1')
 */
export function armedFailpoints(text: string | undefined): Failpoints | undefined {
  if (text === undefined || text.trim() === '') return undefined;
  const failpoints = new Failpoints();
  for (const entry of text.split(',')) {
    const { name, action } = parse(entry.trim());
    failpoints.arm(name, action);
  }
  return failpoints;
}

function parse(entry: string): { name: FailpointName; action: FailpointAction } {
  const groups = ENTRY.exec(entry)?.groups;
  const name = FAILPOINTS.find((known) => known === groups?.name);
  const numbers = (groups?.args ?? '')
    .split(':')
    .filter((n) => n !== '')
    .map(Number);
  const wanted = groups?.action === 'delay' ? 2 : 1;
  const probability = numbers[wanted - 1] ?? 1;
  const fits = numbers.length <= wanted && numbers.every(Number.isFinite) && probability <= 1;
  if (groups === undefined || name === undefined || !fits || (wanted === 2 && numbers.length === 0)) {
    throw new Error(`SVC_TEST_FAILPOINTS: not understood: ${entry}`);
  }
  const act = ACTIONS[groups.action as keyof typeof ACTIONS](numbers[0] ?? 0);
  return { name, action: (hit) => (Math.random() < probability ? act(hit) : undefined) };
}

const ACTIONS: Record<'kill' | 'drop' | 'delay', (ms: number) => FailpointAction> = {
  kill: () => () => void process.kill(process.pid, 'SIGKILL'),
  drop: () => (name) => {
    throw new FailpointError(name);
  },
  delay: (ms) => () => new Promise((resolve) => setTimeout(resolve, ms)),
};
