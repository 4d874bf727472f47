import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { findOrBringServers } from '@opentill/test-servers/servers';
import { declareTopology } from '@opentill/messaging/declare-topology';
import { measureCatchUp, type CatchUpComparison } from './measure-catch-up.ts';
import { measureSuiCatchUp, type SuiCatchUpFigures } from './measure-sui-catch-up.ts';
import { measureTronCatchUp, type TronCatchUpFigures } from './measure-tron-catch-up.ts';
import { measureRpcCost, type RpcCostFigures } from './measure-rpc-cost.ts';
import { measureTronMemory, type TronMemory } from './measure-tron-memory.ts';
import { measureTronRpcCost, type TronRpcCostFigures } from './measure-tron-rpc-cost.ts';
import { openScanDatabase } from './scan-database.ts';

/** The figures of `npm run bench -- scan`. */
export interface ScanningReport {
  readonly measuredAt: string;
  readonly machine: string;
  readonly catchUp?: CatchUpComparison;
  readonly tronCatchUp?: TronCatchUpFigures;
  readonly suiCatchUp?: SuiCatchUpFigures;
  readonly rpcCost?: RpcCostFigures;
  readonly tronRpcCost?: TronRpcCostFigures;
  readonly tronMemory?: readonly TronMemory[];
}

const PARTS = [
  'catch-up',
  'catch-up-tron',
  'catch-up-sui',
  'rpc-cost',
  'rpc-cost-tron',
  'memory-tron',
] as const;
const ADDRESS_COUNTS = [1_000_000, 10_000_000];
const ADDRESS_COUNT_OF_OTHERS = 1_000_000;

/**
 * Measures the scanner beside nodes whose answers are made beforehand, with a database and a broker of its own.
 * `args` narrows it to parts, catch-up, catch-up-tron, catch-up-sui, rpc-cost, rpc-cost-tron or memory-tron; `--minutes 60` lets rpc-cost follow the networks at their own pace
 * for so long, instead of two minutes at a quicker one; `--addresses 1000000` measures catch-up with so many alone.
 */
export async function benchScanning(args: readonly string[], machine: string): Promise<ScanningReport> {
  const { positionals: parts, values } = parseArgs({
    args: [...args],
    options: { minutes: { type: 'string' }, addresses: { type: 'string', multiple: true } },
    allowPositionals: true,
  });
  const minutes = values.minutes === undefined ? undefined : Number(values.minutes);
  const addressCounts = values.addresses?.map(Number) ?? ADDRESS_COUNTS;
  if (minutes !== undefined && !(minutes > 0)) throw new Error(`bench scan: --minutes ${values.minutes}`);
  const unknown = parts.filter((part) => !PARTS.some((known) => known === part));
  if (unknown.length > 0) throw new Error(`bench scan: ${PARTS.join(' or ')}, not ${unknown.join(', ')}`);
  const wants = (part: (typeof PARTS)[number]): boolean => parts.length === 0 || parts.includes(part);
  const say = (line: string): void => void process.stderr.write(`bench: ${line}\n`);
  const dir = mkdtempSync(join(tmpdir(), 'opentill-bench-scan-'));
  chmodSync(dir, 0o711); // Postgres runs as a user of its own when we are root
  // Never those of the environment: the table of addresses is filled in a way that suits no other use.
  const servers = await findOrBringServers({ dir, given: {}, keepData: false, say });
  try {
    const database = await openScanDatabase(servers.database.url);
    try {
      await declareTopology(servers.broker.url);
      const rpcCost = wants('rpc-cost')
        ? await measureRpcCost(database, servers.broker.url, say, minutes)
        : undefined;
      const catchUp = wants('catch-up')
        ? await measureCatchUp(database, servers.broker.url, addressCounts, say)
        : undefined;
      const bench = {
        database,
        brokerUrl: servers.broker.url,
        depositAddresses: addressCounts[0] ?? ADDRESS_COUNT_OF_OTHERS,
        say,
      };
      const tronCatchUp = wants('catch-up-tron') ? await measureTronCatchUp(bench) : undefined;
      const suiCatchUp = wants('catch-up-sui') ? await measureSuiCatchUp(bench) : undefined;
      const tronRpcCost = wants('rpc-cost-tron')
        ? await measureTronRpcCost(database, servers.broker.url, say, minutes)
        : undefined;
      const tronMemory = wants('memory-tron')
        ? await measureTronMemory(database, servers.broker.url, say)
        : undefined;
      return {
        measuredAt: new Date().toISOString(),
        machine,
        ...(catchUp === undefined ? {} : { catchUp }),
        ...(tronCatchUp === undefined ? {} : { tronCatchUp }),
        ...(suiCatchUp === undefined ? {} : { suiCatchUp }),
        ...(rpcCost === undefined ? {} : { rpcCost }),
        ...(tronRpcCost === undefined ? {} : { tronRpcCost }),
        ...(tronMemory === undefined ? {} : { tronMemory }),
      };
    } finally {
      await database.close();
    }
  } finally {
    await servers.stop();
    rmSync(dir, { recursive: true, force: true });
  }
}
