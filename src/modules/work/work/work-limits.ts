/** How much one transaction does for the dependents of beads: all other writers of the city wait for it. */
export interface WorkLimits {
  /** So many are told in the transaction in which a bead closes or opens again; more are told in a fan-out. */
  readonly few: number;
  /** So many in a step of it. */
  readonly step: number;
}
