import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import type { Tx } from '../../../../platform/database/transactions.js';
import type { RecipeEdge, RecipeStep } from '../../formulas/compile/recipe.js';
import type { Begun, Outcome, RunFacts, UnitFact, Verdict } from './facts.js';
import { append, handsOn } from './nodes.js';

/** A step of a run that decides, and the bead that stands for it. */
export interface StoredStep {
  readonly bead: string;
  readonly step: RecipeStep;
  /** The step whose round it belongs to. */
  readonly made_by?: string | undefined;
  readonly round?: number | undefined;
  /** How long its round may take, from when it is begun. */
  readonly limit_ms?: number | undefined;
  /** The bead of the step that has made it. */
  readonly owner?: string | undefined;
}

/** A run as it stands, with the beads of its steps by their ids in the recipe. */
export interface StoredRun extends RunFacts {
  readonly beads: ReadonlyMap<string, string>;
}

/** What the script of a check is asked about: its bead, the round, and the bead of the step that speaks for that. */
export interface Asked {
  readonly bead: string;
  readonly round: number;
  readonly subject: string;
}

/** What is left out of a step that no decision depends on. */
const SAYS_NOTHING = {
  title: '',
  description: '',
  notes: '',
  assignee: '',
  labels: [],
  metadata: {},
  type: '',
} satisfies Partial<RecipeStep>;

/** Controls make others of themselves: they stay whole. */
const DECIDING = sql<RecipeStep>`case when s.step ? 'control' then s.step else s.step - '{title,description,notes,assignee,labels,metadata,type}'::text[] end`;

/** SQL of what runs decide, under the city's work lock. */
@Injectable()
export class RunControlRepository {
  async add(tx: Tx, streamId: number, run: string, steps: readonly StoredStep[]): Promise<void> {
    await sql`
      insert into run_steps (stream_id, bead_id, run_id, step, made_by, round, limit_ms, within)
      select ${streamId}, s.bead, ${run}, s.step, s.made_by, s.round, s.limit_ms,
        (select o.bead_id from run_steps o where o.stream_id = ${streamId} and o.bead_id = s.owner and (o.limit_ms is not null or o.within is not null))
      from jsonb_to_recordset(${JSON.stringify(steps)}::jsonb)
        as s(bead text, step jsonb, made_by text, round integer, limit_ms integer, owner text)`.execute(tx);
  }

  /** Counts steps that a round has added, and gates among them that are waited for already. */
  async grow(tx: Tx, streamId: number, run: string, by: number, gates: number): Promise<void> {
    await sql`
      update runs set steps = steps + ${by}, gates = gates + ${gates}, updated_at = clock_timestamp() where stream_id = ${streamId} and id = ${run}`.execute(
      tx,
    );
  }

  /** Has a worker run the script of a check for this round, about a bead of it. */
  async ask(tx: Tx, streamId: number, run: string, { bead, round, subject }: Asked): Promise<void> {
    await sql`
      insert into run_checks as c (stream_id, bead_id, run_id, round, subject) values (${streamId}, ${bead}, ${run}, ${round}, ${subject})
      on conflict (stream_id, bead_id) do update set
        round = excluded.round, subject = excluded.subject, worker = null, lease_until = null, attempts = c.attempts + 1`.execute(tx);
  }

  /** Nobody asks for the scripts of these any more: whoever runs one loses its lease. */
  async unask(tx: Tx, streamId: number, beads: readonly string[]): Promise<void> {
    await sql`delete from run_checks where stream_id = ${streamId} and bead_id = any(${[...beads]}::text[])`.execute(tx);
  }

  /** Steps are open again: what was said of their rounds, or is being looked at, was said of something else. A gate waits for another message. */
  async unsay(tx: Tx, streamId: number, beads: readonly string[]): Promise<void> {
    await sql`
      with control as (
        select distinct s.bead_id from run_steps m join run_steps s on s.stream_id = m.stream_id and s.run_id = m.run_id and s.step ->> 'id' = m.made_by
        where m.stream_id = ${streamId} and m.made_by is not null and m.bead_id = any(${[...beads]}::text[])),
      unasked as (delete from run_checks c using control o where c.stream_id = ${streamId} and c.bead_id = o.bead_id),
      unheard as (delete from run_heard_gates h where h.stream_id = ${streamId} and h.bead_id = any(${[...beads]}::text[]))
      update run_steps s set verdict = null from control o
      where s.stream_id = ${streamId} and s.bead_id = o.bead_id and s.verdict is not null`.execute(tx);
  }

  /**
   * Has workers go on with runs in other transactions, and leave the city to its other writers for so long before them. Where that is asked for already somebody
   * else has come in between: what he has begun counts from him on.
   */
  async goOnLater(tx: Tx, streamId: number, runs: readonly string[], begun: Begun, restMs: number): Promise<void> {
    await sql`
      insert into run_continuations (stream_id, run_id, due_at, begun)
      select ${streamId}, r.id, clock_timestamp() + ${restMs} * interval '1 millisecond', ${JSON.stringify(Object.fromEntries(begun))}::jsonb
      from unnest(${[...runs]}::text[]) as r(id)
      on conflict do nothing`.execute(tx);
  }

  /**
   * Undefined for a run that decides nothing. What steps say that it does not decide itself counts only for the room of a round: without `texts` it is not read, as all
   * steps are looked at whenever one ends.
   */
  async facts(tx: Tx, streamId: number, run: string, { texts }: { texts: boolean }): Promise<StoredRun | undefined> {
    const { rows } = await sql<{
      bead: string;
      step: RecipeStep;
      made_by: string | null;
      round: number | null;
      verdict: Verdict | null;
      status: string;
      word: string | null;
      failure: string | null;
      reason: string | null;
    }>`
      select b.id as bead, ${texts ? sql`s.step` : DECIDING} as step, s.made_by, s.round, s.verdict, b.status, b.metadata ->> 'gc.outcome' as word,
        b.metadata ->> 'gc.failure_class' as failure, b.metadata ->> 'gc.failure_reason' as reason
      from run_steps s join beads b on b.stream_id = s.stream_id and b.id = s.bead_id
      where s.stream_id = ${streamId} and s.run_id = ${run} order by b.created_at, length(b.id), b.id`.execute(tx);
    if (rows.length === 0) return undefined;
    const { edges, outside } = await this.#edges(tx, streamId, run, rows);
    const waiting = await this.#waiting(tx, streamId, outside);
    const outputs = await this.#outputs(tx, streamId, askedFor(rows, edges));
    const checks = rows.flatMap(({ bead, step }) => (step.control?.kind === 'check' ? [bead] : []));
    const asked = await this.#asked(tx, streamId, checks);
    const units = rows.some(({ step }) => step.control?.kind === 'drain') ? await this.#units(tx, streamId, run) : undefined;
    return {
      beads: new Map(rows.map(({ bead, step }) => [step.id, bead])),
      steps: rows.map(({ bead, step, made_by, round, verdict, status, word, failure, reason }) => ({
        step: texts ? step : { ...SAYS_NOTHING, ...step },
        started: status !== 'open',
        ...(waiting.has(bead) ? { waits: true } : {}),
        ...(made_by === null ? {} : { of: made_by, round: round! }),
        ...(verdict === null ? {} : { verdict }),
        ...(asked.has(bead) ? { asked: asked.get(bead)! } : {}),
        ...(units?.has(bead) === true ? { units: units.get(bead)! } : {}),
        ...(status === 'closed' ? { ended: said({ word, failure, reason, output: outputs.get(bead) ?? null }) } : {}),
      })),
      edges,
    };
  }

  /** What steps have handed on, by their beads. */
  async #outputs(tx: Tx, streamId: number, beads: readonly string[]): Promise<ReadonlyMap<string, string>> {
    if (beads.length === 0) return new Map();
    const { rows } = await sql<{ id: string; output: string }>`
      select id, metadata ->> 'gc.output_json' as output from beads
      where stream_id = ${streamId} and id = any(${[...beads]}::text[]) and metadata ? 'gc.output_json'`.execute(tx);
    return new Map(rows.map(({ id, output }) => [id, output]));
  }

  /** The units of drains, by the bead of the drain. */
  async #units(tx: Tx, streamId: number, run: string): Promise<Map<string, UnitFact[]>> {
    const { rows } = await sql<{ drain: string; n: number; member: string; convoy: string | null; held: boolean; outcome: Outcome | null }>`
      select u.drain_id as drain, u.n, u.member_id as member, u.convoy_id as convoy, u.held, u.outcome from run_units u
      where u.stream_id = ${streamId} and u.run_id = ${run} order by u.drain_id, u.n`.execute(tx);
    const units = new Map<string, UnitFact[]>();
    for (const { drain, convoy, held, outcome, ...unit } of rows)
      append(units, drain, {
        ...unit,
        ...(convoy === null ? {} : { convoy }),
        ...(held ? { held } : {}),
        ...(outcome === null ? {} : { outcome }),
      });
    return units;
  }

  /** The rounds whose scripts wait or run, by the beads of their checks. */
  async #asked(tx: Tx, streamId: number, checks: readonly string[]): Promise<ReadonlyMap<string, number>> {
    if (checks.length === 0) return new Map();
    const { rows } = await sql<{ bead: string; round: number }>`
      select bead_id as bead, round from run_checks where stream_id = ${streamId} and bead_id = any(${[...checks]}::text[])`.execute(tx);
    return new Map(rows.map(({ bead, round }) => [bead, round]));
  }

  /**
   * Who waits for whom among the steps of a run, but for controls that wait for what they have made, and who waits for beads outside it. The steps are known
   * already: where a plan takes a run for a small one, joining them again compares each with each.
   */
  async #edges(tx: Tx, streamId: number, run: string, steps: readonly PlacedRow[]): Promise<{ edges: RecipeEdge[]; outside: Outside[] }> {
    const { rows } = await sql<{ from: string; to: string; kind: RecipeEdge['kind'] }>`
      select d.depends_on_id as "from", d.issue_id as "to", d.type as kind
      from run_steps t join bead_dependencies d on d.stream_id = t.stream_id and d.issue_id = t.bead_id and d.blocking
      where t.stream_id = ${streamId} and t.run_id = ${run}`.execute(tx);
    const known = new Map(steps.map((row) => [row.bead, row]));
    const edges = rows.flatMap(({ from, to, kind }) => {
      const [needed, step] = [known.get(from), known.get(to)!];
      return needed === undefined || needed.made_by === step.step.id ? [] : [{ from: needed.step.id, to: step.step.id, kind }];
    });
    return { edges, outside: rows.filter(({ from }) => !known.has(from)) };
  }

  /** The beads of the steps that wait for one that is open. */
  async #waiting(tx: Tx, streamId: number, outside: readonly Outside[]): Promise<ReadonlySet<string>> {
    if (outside.length === 0) return new Set();
    const ids = [...new Set(outside.map(({ from }) => from))];
    const { rows } = await sql<{ id: string }>`
      select id from beads where stream_id = ${streamId} and id = any(${ids}::text[]) and status <> 'closed'`.execute(tx);
    const open = new Set(rows.map(({ id }) => id));
    return new Set(outside.flatMap(({ from, to }) => (open.has(from) ? [to] : [])));
  }
}

/** That the bead of a step waits for one outside its run. */
interface Outside {
  readonly from: string;
  readonly to: string;
}

interface PlacedRow {
  readonly bead: string;
  readonly step: RecipeStep;
  readonly made_by: string | null;
}

interface AskedRow extends PlacedRow {
  readonly round: number | null;
  readonly status: string;
}

/**
 * Beads whose outputs may decide something: what the newest round of each open control hands on, and what an open fan-out is of. Each step
 * may have handed on 16 KiB, and all steps are looked at whenever one ends.
 */
function askedFor(rows: readonly AskedRow[], edges: readonly RecipeEdge[]): string[] {
  const open = rows.filter(({ step, status }) => step.control !== undefined && status !== 'closed');
  if (open.length === 0) return [];
  const beads = new Map(rows.map(({ bead, step }) => [step.id, bead]));
  const needs = new Map<string, string[]>();
  for (const { from, to } of edges) append(needs, to, from);
  const made = new Map<string, AskedRow[]>();
  for (const row of rows) if (row.made_by !== null) append(made, row.made_by, row);
  return open.flatMap(({ step: { id, control } }) => {
    if (control!.kind === 'fanout') return beads.get(control!.of) ?? [];
    if (control!.kind === 'drain') return [];
    const all = made.get(id) ?? [];
    const newest = all.reduce((most, { round }) => Math.max(most, round!), 0);
    const placed = all.flatMap(({ step, round }) => (round === newest ? [{ fact: { step }, needs: needs.get(step.id) ?? [] }] : []));
    return beads.get(handsOn(placed)?.fact.step.id ?? '') ?? [];
  });
}

/** Only what is there: an empty text says nothing. */
function said<T extends Readonly<Record<string, string | null>>>(all: T): { [K in keyof T]?: string } {
  return Object.fromEntries(Object.entries(all).filter(([, value]) => value !== null && value !== '')) as { [K in keyof T]?: string };
}
