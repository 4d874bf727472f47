import { expect, test } from 'vitest';
import type { Address } from '@opentill/chain/address-codec';
import { readerError } from '@opentill/chain/reader-error';
import { createStepLog } from './step-log.ts';

const key = { chain: 'ETH_SEPOLIA', wallet: '0x1' as Address } as const;

test('logs 923 equal failures once, and the recovery once', () => {
  const lines: string[] = [];
  const steps = createStepLog({
    warn: (message, fields) => lines.push(`${message} ${String(fields?.['step'])}`),
    info: (message, fields) => lines.push(`${message} ${String(fields?.['step'])}`),
  });
  for (let pass = 0; pass < 923; pass += 1) {
    steps.failed(key, 'sign', readerError('BLOCK_NOT_FOUND', 'gone'));
    steps.passed(key);
  }
  expect(lines).toEqual(['step failed sign']);
  steps.failed(key, 'sign', readerError('RPC_UNAVAILABLE', 'down'));
  steps.passed(key);
  steps.passed(key);
  steps.passed(key);
  expect(lines.slice(1)).toEqual(['step failed sign', 'step recovered sign']);
});
