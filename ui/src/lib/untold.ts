interface Member {
  readonly message?: string;
  readonly location?: string;
}

/** What a refusal has of single members beside its own words. One that is about one member alone is often made of what is wrong with it, and says it once. */
export function untold(said: string, errors: readonly Member[]): readonly Member[] {
  const [only] = errors;
  return errors.length === 1 && only?.message !== undefined && said.endsWith(`: ${only.message}`) ? [] : errors;
}
