/** A stream's events have the data of its frames; functions have short names. */
const operations = (_method, _path, operation) => {
  operation.operationId = operation['x-name'] ?? operation.operationId;
  const stream = operation.responses?.['200']?.content?.['text/event-stream'];
  if (stream !== undefined) stream.schema = stream['x-event-data'];
};

export default {
  input: process.env.OPENAPI ?? 'http://localhost:8372/openapi.json',
  output: { path: 'hey-api' },
  parser: { patch: { operations } },
  plugins: [
    '@hey-api/client-fetch',
    '@hey-api/typescript',
    { name: '@hey-api/sdk', validator: true },
    { name: 'zod', dates: { offset: true } },
  ],
};
