/** Something waits to be told to a member, or to be published. */
export const EXTMSG_TOPIC = 'extmsg';

/** Something has come of a publication. */
export const publicationTopic = (pk: number): string => `xp${pk}`;
