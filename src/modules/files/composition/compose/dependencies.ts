import { Leaf, List } from '../tree.js';
import type { Agent, Agents } from './agents.js';
import type { Run } from './run.js';

/** Agents depend on agents that there are, not on themselves and not in a circle. */
export function checkDependencies(run: Run, agents: Agents): void {
  const edges = new Map<Agent, { to: Agent; leaf: Leaf }[]>();
  const names = [...agents.all].map(({ qualifiedName }) => qualifiedName);
  for (const agent of agents.all) {
    const list = agent.table.get('depends_on');
    if (!(list instanceof List)) continue;
    const found: { to: Agent; leaf: Leaf }[] = [];
    for (const leaf of list.items) {
      if (!(leaf instanceof Leaf)) continue;
      const name = String(leaf.value);
      const to = agents.resolve(name, agent.dir, agent.binding);
      if (to === undefined) run.error(leaf, `there is no agent "${name}"${run.suggestions.of(name, names)}`);
      else if (to === agent) run.error(leaf, 'an agent cannot depend on itself');
      else found.push({ to, leaf });
    }
    edges.set(agent, found);
  }
  const done = new Set<Agent>();
  for (const agent of edges.keys()) findCircle(run, agent, edges, done);
}

/** Follows dependencies without recursion: a chain may be as long as there are agents. */
function findCircle(run: Run, start: Agent, edges: ReadonlyMap<Agent, { to: Agent; leaf: Leaf }[]>, done: Set<Agent>): void {
  if (done.has(start)) return;
  const path: { agent: Agent; next: number }[] = [{ agent: start, next: 0 }];
  const onPath = new Map([[start, 0]]);
  for (;;) {
    const top = path.at(-1);
    if (top === undefined) return;
    const edge = edges.get(top.agent)?.[top.next++];
    if (edge === undefined) {
      path.pop();
      onPath.delete(top.agent);
      done.add(top.agent);
    } else if (onPath.has(edge.to)) {
      const from = path.slice(onPath.get(edge.to));
      const circle = from.map(({ agent }) => agent.qualifiedName);
      const first = edges.get(edge.to)![from[0]!.next - 1]!;
      const shown = circle.length > 20 ? [...circle.slice(0, 20), '…'] : circle;
      run.error(first.leaf, `agents depend on each other in a circle: ${[...shown, edge.to.qualifiedName].join(' -> ')}`);
    } else if (!done.has(edge.to)) {
      onPath.set(edge.to, path.length);
      path.push({ agent: edge.to, next: 0 });
    }
  }
}
