/**
 * Named places where a test may stop, kill or delay the process. Nothing is armed outside tests, and an
 * unarmed failpoint costs one comparison.
 */
export type FailpointAction = (name: string) => void | Promise<void>;

export class Failpoints {
  #armed: Map<string, FailpointAction> | undefined;

  arm(name: string, action: FailpointAction): void {
    (this.#armed ??= new Map()).set(name, action);
  }

  disarm(name?: string): void {
    if (name === undefined) this.#armed = undefined;
    else this.#armed?.delete(name);
  }

  /** Runs the armed action, if any. Await it: an action may hold the caller or throw. */
  hit(name: FailpointName): void | Promise<void> {
    if (this.#armed === undefined) return;
    return this.#armed.get(name)?.(name);
  }
}

/** Every failpoint of the project; the chaos run kills a process at each of them. */
export const FAILPOINTS = [
  'tx.before_commit',
  'tx.after_commit',
  'notify.before',
  'notify.after',
  'queue.before_enqueue',
  'queue.after_enqueue',
  'operation.after_claim',
  'operation.after_phase',
  'operation.before_finish',
  'operation.after_finish',
  'operation.before_fail',
  'sweeper.before_redispatch',
  'config.before_write',
  'config.between_files',
  'config.after_write',
  'config.after_commit',
  'rig.before_clone',
  'rig.after_clone',
  'rig.after_place',
  'rig.after_edit',
  'scaffold.before_write',
  'scaffold.after_first_file',
  'scaffold.after_write',
  'city.before_commit',
  'city.after_commit',
  'emit.before_flush',
  'emit.after_flush',
  'bead.before_flush',
  'bead.after_flush',
  'claim.before_flush',
  'claim.after_flush',
  'fan_out.after_step',
  'check.begun',
  'check.before_verdict',
  'maintenance.begun',
  'maintenance.before_end',
  'order.begun',
  'order.before_end',
  'extmsg.published',
  'extmsg.offered',
  'runner.after_claim',
  'runner.before_spawn',
  'runner.after_ready',
  'message.after_in_flight',
  'message.after_prompt',
  'message.after_delivered',
  'runner.before_exit_recorded',
  'interaction.after_open',
  'stream.after_headers',
  'stream.before_first_frame',
] as const;
export type FailpointName = (typeof FAILPOINTS)[number];
