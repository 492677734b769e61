import type { Table } from '../tree.js';
import type { Run } from './run.js';

/** What a service of kind `workflow` can be: it is built in. */
export const CONTRACTS: readonly string[] = ['gc.healthz.v1'];
/** A city has so many at the most; what is more is not run, and composing says so. */
export const MAX_SERVICES = 64;
const STATE = '.gc/services/';
const SEGMENT = /^[A-Za-z0-9_][A-Za-z0-9._-]*$/;
const LABEL = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/;
const PATH = /^\/[\x21\x22\x24-\x7e]*$/;

/** Each service says what it does, keeps its state where services do, and goes by a name that a host can have. */
export function checkServices(run: Run, city: Table): void {
  const owners = new Map<string, string>();
  const services = city.tables('service');
  const over = services[MAX_SERVICES];
  // The city goes on: it may have had them before anybody said so.
  if (over !== undefined) run.warn(over, `is not run, nor is any after it: a city has ${MAX_SERVICES} services at the most`);
  for (const service of services) {
    checkKind(run, service);
    const publication = service.table('publication');
    const visibility = publication?.text('visibility') ?? 'public';
    if (service.text('publish_mode') === 'direct' && visibility !== 'public')
      run.error(publication!.get('visibility')!, 'is not for publish_mode "direct", which anybody can reach', ['public']);
    const hostname = publication?.get('hostname');
    if (hostname !== undefined && !LABEL.test(publication!.text('hostname') ?? ''))
      run.error(hostname, 'must be one label of a host name: up to 63 lower-case letters, digits and hyphens');
    checkState(run, service, owners);
  }
}

function checkKind(run: Run, service: Table): void {
  const isProcess = service.text('kind') === 'proxy_process';
  // Whoever forgets the kind has a program that nobody starts.
  const unread = service.get(isProcess ? 'workflow' : 'process');
  if (unread !== undefined) run.warn(unread, `has no effect: it is for kind "${isProcess ? 'workflow' : 'proxy_process'}"`);
  if (isProcess) {
    const process = service.table('process');
    const command = process?.texts('command') ?? [];
    if ((command[0] ?? '') === '') run.error(process?.get('command') ?? service, 'needs process.command: the program, then its arguments');
    else if (command.some((word) => word.includes('\0'))) run.error(process!.get('command')!, 'has a NUL character');
    const health = process?.get('health_path');
    if (health !== undefined && !PATH.test(process!.text('health_path') ?? ''))
      run.error(health, 'must be a path such as /healthz, without a fragment');
    return;
  }
  const workflow = service.table('workflow');
  const contract = workflow?.text('contract') ?? '';
  if (contract === '') run.error(workflow?.get('contract') ?? service, 'needs workflow.contract', CONTRACTS);
  // The city goes on without it; the service tells the same.
  else if (!CONTRACTS.includes(contract))
    run.warn(workflow!.get('contract')!, `there is no contract "${contract}": ${CONTRACTS.join(', ')}`);
}

/** Services of one pack may share their state. */
function checkState(run: Run, service: Table, owners: Map<string, string>): void {
  const root = service.text('state_root') ?? '';
  const node = service.get('state_root')!;
  const segments = root.slice(STATE.length).split('/');
  if (!root.startsWith(STATE) || segments.length > 8 || !segments.every((segment) => SEGMENT.test(segment)))
    return run.error(node, `must be a path below ${STATE} of letters, digits, dots, underscores and hyphens`);
  const pack = service.text('pack') ?? '';
  for (const [other, owner] of owners)
    if (owner !== pack && (other === root || other.startsWith(`${root}/`) || root.startsWith(`${other}/`)))
      return run.error(node, `is where a service of ${owner === '' ? 'the city' : `the pack "${owner}"`} keeps its state`);
  owners.set(root, pack);
}
