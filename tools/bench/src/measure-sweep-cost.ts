import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { measureEvmSweeps, type EvmSweepCost } from './measure-evm-sweeps.ts';
import { measureSuiSweeps, type SuiSweepCost } from './measure-sui-sweeps.ts';
import { measureTronSweeps, type TronSweepCost } from './measure-tron-sweeps.ts';

/** What it costs to empty an address, by how its fee is paid and how many are emptied together. */
export interface SweepCosts {
  readonly evm: readonly EvmSweepCost[];
  readonly tron: readonly TronSweepCost[];
  readonly sui: readonly SuiSweepCost[];
}

/** How many addresses are emptied together. */
const BATCHES = [1, 10, 50];
/** Prices to show gas at, in gwei. */
const GWEI = [0.05, 1, 10];
const SUN_PER_TRX = 1e6;
const MIST_PER_SUI = 1e9;

/**
 * Empties addresses on anvil and on the devnets of TRON and SUI by the transactions that the signer would send, and reads from their receipts,
 * on SUI from the hot wallet's balance, what each cost; throws when an address is not empty after it.
 */
export async function measureSweepCosts(say: (line: string) => void): Promise<SweepCosts> {
  const dir = mkdtempSync(join(tmpdir(), 'opentill-bench-sweeps-'));
  try {
    const evm = await measureEvmSweeps(dir, BATCHES, say);
    const tron = await measureTronSweeps(dir, BATCHES, say);
    return { evm, tron, sui: await measureSuiSweeps(dir, BATCHES, say) };
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}

/** The lines that are printed: a table of each family. */
export function describeSweepCosts({ evm, tron, sui }: SweepCosts): string[] {
  const trx = (sun: number) => (sun / SUN_PER_TRX).toFixed(3);
  const evmHead = ['together', 'top-up gas', 'transfer gas', ...GWEI.map((gwei) => `ETH at ${gwei} gwei`)];
  const tronHead = [
    'paid by',
    'recipient',
    'together',
    'cost TRX',
    'of it rent',
    'stake lent TRX',
    'left there TRX',
  ];
  return [
    ...table(
      evmHead,
      evm.map(({ batch, topUpGas, transferGas }) => [
        `${batch}`,
        topUpGas.toFixed(0),
        transferGas.toFixed(0),
        ...GWEI.map((gwei) => (((topUpGas + transferGas) * gwei) / 1e9).toFixed(7)),
      ]),
    ),
    '',
    ...table(
      tronHead,
      tron.map(({ method, isNew, batch, costSun, rentSun, stakeSun, leftSun }) => [
        method,
        isNew ? 'new' : 'activated',
        `${batch}`,
        trx(costSun),
        trx(rentSun),
        trx(stakeSun),
        trx(leftSun),
      ]),
    ),
    '',
    ...table(
      ['paid by', 'lies in', 'together', 'planned SUI', 'cost SUI'],
      sui.map(({ method, coins, batch, plannedMist, costMist }) => [
        method === 'GASLESS' ? 'nobody' : 'hot wallet',
        coins === 0 ? 'balance' : coins === 1 ? '1 coin' : `${coins} coins`,
        `${batch}`,
        ...[plannedMist, costMist].map((mist) => (mist / MIST_PER_SUI).toFixed(6)),
      ]),
    ),
  ];
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string[] {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`;
  return [line(head), line(head.map(() => '---')), ...rows.map(line)];
}
