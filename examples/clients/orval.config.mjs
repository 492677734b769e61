export default {
  svc: {
    input: process.env.OPENAPI ?? 'http://localhost:8372/openapi.json',
    output: {
      target: 'orval/api.ts',
      schemas: 'orval/model',
      client: 'fetch',
      baseUrl: process.env.SVC_API ?? 'http://localhost:8372',
      override: {
        operationName: (operation) => (operation['x-name'] ?? operation.operationId).replace(/-(\w)/g, (_, letter) => letter.toUpperCase()),
      },
    },
  },
};
