import { expect } from 'vitest';
import { sql } from 'kysely';
import type { Deposit } from '@opentill/testkit/transfer-audit';
import type { ScannerWorld } from './scanner-world.ts';
import type { TruthChain } from './truth-chain.ts';

export async function recorded(world: ScannerWorld, state: string): Promise<readonly Deposit[]> {
  const { rows } = await sql<Deposit>`
    select tx_hash as tx, position, contract_address as token, to_address as "to", amount::text as amount,
      block_height as height, block_hash as block from transfer where state = ${state}`.execute(
    world.admin.kysely,
  );
  return sorted(rows);
}

export async function expectTruth(world: ScannerWorld, chain: TruthChain): Promise<void> {
  await world.caughtUp();
  expect(await recorded(world, 'VERIFIED')).toEqual(sorted(chain.truth()));
  expect(await recorded(world, 'DETECTED')).toEqual([]);
}

function sorted(deposits: readonly Deposit[]): readonly Deposit[] {
  return deposits.toSorted(
    (a, b) => a.height - b.height || a.tx.localeCompare(b.tx) || a.position.localeCompare(b.position),
  );
}
