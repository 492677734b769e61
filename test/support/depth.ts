/** Set by `npm run test:deep`: everything, however long it takes. */
export const DEEP = process.env.SVC_TEST_DEEP === '1';
