import { expect, test } from 'vitest';
import { scramVerifier } from './roles.ts';

test('the SCRAM verifier equals that of Postgres 15 for the same password and salt', () => {
  // Read from pg_authid after: alter role … password 'pencil'.
  const stored =
    'SCRAM-SHA-256$4096:Ojd3Z0dItciXhGSv46OwPg==$dkDtOVwvRz8SiJFZH695AhBbfWIZOhGOxuOd3UVYio8=:2c9YjL63+K3bPSCypXhW9WxkR6SVjb/OKoIoB3705ms=';
  const salt = Buffer.from(stored.split(/[:$]/)[2] ?? '', 'base64');
  expect(scramVerifier('pencil', salt)).toBe(stored);
});
