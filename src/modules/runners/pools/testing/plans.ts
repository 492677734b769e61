import type { OfferedBead, PoolDecision, PoolFacts } from '../pool-facts.js';
import { poolPlan } from '../pool-plan.js';
import { beads, factsWith } from './facts.js';

export const plan = (more: Partial<PoolFacts>): readonly PoolDecision[] => poolPlan(factsWith(more)).decisions;
export const offered = (n: number, route = 'worker'): Map<string, OfferedBead[]> => new Map([[route, beads(n)]]);
export const starts = (decisions: readonly PoolDecision[]): PoolDecision[] =>
  decisions.filter((d) => d.do === 'create' || d.do === 'materialize' || d.do === 'wake');
