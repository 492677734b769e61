/** Who is suspended with an agent: a member of a pool has no switch of its own, the pool has one for all. */
export const switchOf = ({ name, pool }: { readonly name: string; readonly pool?: string | undefined }): string => pool ?? name;

export const switchWords = ({ pool, suspended }: { readonly pool?: string | undefined; readonly suspended: boolean }): string =>
  `${suspended ? 'Resume' : 'Suspend'}${pool === undefined ? '' : ' pool'}`;
