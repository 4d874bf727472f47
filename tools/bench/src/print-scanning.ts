import type { ScanningReport } from './bench-scanning.ts';
import type { SuiCatchUpFigures } from './measure-sui-catch-up.ts';
import type { TronCatchUpFigures } from './measure-tron-catch-up.ts';
import type { TronMemory } from './measure-tron-memory.ts';
import type { TronRpcCostFigures } from './measure-tron-rpc-cost.ts';
import type { CatchUpRun } from './run-catch-up.ts';

/** Prints the report of the scanner as tables on standard output. */
export function printScanning(report: ScanningReport): void {
  const print = (line = ''): void => void process.stdout.write(`${line}\n`);
  print(`${report.machine}, ${report.measuredAt}`);
  const { catchUp, tronCatchUp, rpcCost } = report;
  if (catchUp !== undefined) {
    print();
    print(
      `Catching up ${catchUp.blocks} blocks of ${catchUp.transfersPerBlock} transfers (${catchUp.blocksByReceipts} where receipts are read), in turns. A: a bare loop that fetches and decodes blocks and logs of one source; B: of two sources; C: blocks and receipts of one source. Scanner 2: with two sources, which believes the logs of neither alone, beside B. Scanner 1: with one source, by receipts held against the blooms of the headers, beside C. Blocks/s (processor ms per block of the reading process).`,
    );
    print('| deposit addresses | round | A | B | scanner 2 | C | scanner 1 |');
    print('|---|---|---|---|---|---|---|');
    for (const { depositAddresses, rounds, ...ratios } of catchUp.figures) {
      rounds.forEach((r, i) =>
        print(
          `| ${depositAddresses} | ${i + 1} | ${text(r.bare)} | ${text(r.bareTwice)} | ${text(r.twoSources)} | ${text(r.bareReceipts)} | ${text(r.oneSource)} |`,
        ),
      );
      print(
        `| ${depositAddresses} | scanner / bare | | | ${ratios.twoSourcesToSame} of B, by processor ${ratios.twoSourcesToSameByProcessor}; ${ratios.twoSourcesToBare} of A | | ${ratios.oneSourceToSame} of C, by processor ${ratios.oneSourceToSameByProcessor}; ${ratios.oneSourceToBare} of A |`,
      );
    }
    print(
      `of B and of C: at least 0.7; two sources, most addresses / fewest, each against B of its own rounds: ${catchUp.mostToFewestAddresses} (at least 0.8)`,
    );
  }
  if (tronCatchUp !== undefined) printTron(tronCatchUp, print);
  if (report.suiCatchUp !== undefined) printSui(report.suiCatchUp, print);
  if (report.tronRpcCost !== undefined) printTronCost(report.tronRpcCost, print);
  if (report.tronMemory !== undefined) printTronMemory(report.tronMemory, print);
  if (rpcCost !== undefined) {
    print();
    print(`RPC calls and bytes a day. ${rpcCost.method}`);
    print(
      '| network | block s | poll s | transfers/block | measured min (× speed) | getBlockByNumber | getLogs | receipts | other | HTTP requests | MB up, each source | MB down, each source | compute units |',
    );
    print('|---|---|---|---|---|---|---|---|---|---|---|---|---|');
    for (const n of rpcCost.networks) {
      const { eth_getBlockByNumber: blocks = 0, eth_getLogs: logs = 0, ...others } = n.callsPerDay;
      const { eth_getTransactionReceipt: receipts = 0, eth_getBlockReceipts: all = 0, ...rest } = others;
      const other = Object.values(rest).reduce((sum, count) => sum + count, 0);
      const requests = n.sources.reduce((sum, source) => sum + source.httpRequestsPerDay, 0);
      const up = n.sources.map((source) => source.megabytesUpPerDay).join(', ');
      const down = n.sources.map((source) => source.megabytesDownPerDay).join(', ');
      print(
        `| ${n.chain} | ${n.blockTimeMs / 1_000} | ${n.pollIntervalMs / 1_000} | ${n.transfersPerBlock} | ${n.measuredMinutes} (× ${n.speed}) | ${blocks} | ${logs} | ${receipts + all} | ${other} | ${requests} | ${up} | ${down} | ${n.computeUnitsPerDay} |`,
      );
    }
  }
}

function printTronCost({ method, costs }: TronRpcCostFigures, print: (line?: string) => void): void {
  print();
  print(`Requests to TRON a day. ${method}`);
  print('| poll s | measured min | requests, each endpoint | MB down, each endpoint | by method |');
  print('|---|---|---|---|---|');
  for (const { pollIntervalMs, measuredMinutes, sources } of costs) {
    const each = <T>(of: (source: (typeof sources)[number]) => T): string => sources.map(of).join(', ');
    const calls = sources.map(({ callsPerDay }) =>
      Object.entries(callsPerDay)
        .map(([name, count]) => `${name} ${count}`)
        .join(' '),
    );
    print(
      `| ${pollIntervalMs / 1_000} | ${measuredMinutes} | ${each((one) => one.requestsPerDay)} | ${each((one) => one.megabytesDownPerDay)} | ${calls.join('; ')} |`,
    );
  }
}

function printTronMemory(figures: readonly TronMemory[], print: (line?: string) => void): void {
  print();
  print(
    'The most memory of a scanner of TRON that catches up, a process of its own with a heap as in a small container.',
  );
  print('| transactions a block | blocks | endpoints | MB resident, at most |');
  print('|---|---|---|---|');
  for (const { transactionsPerBlock, blocks, sources, megabytesMost } of figures)
    print(`| ${transactionsPerBlock} | ${blocks} | ${sources} | ${megabytesMost} |`);
}

function printTron(figures: TronCatchUpFigures, print: (line?: string) => void): void {
  const { blocks, tokenTransfersPerBlock, trxTransfersPerBlock, depositAddresses } = figures;
  print();
  print(
    `Catching up ${blocks} blocks of TRON with ${tokenTransfersPerBlock} transfers of tokens and ${trxTransfersPerBlock} of TRX, ${depositAddresses} deposit addresses, in turns with bare loops that fetch and decode the same blocks and receipts: B of two sources, C of one. Blocks/s (processor ms per block of the reading process).`,
  );
  printRounds(figures, print);
}

function printSui(figures: SuiCatchUpFigures, print: (line?: string) => void): void {
  const { blocks, transactionsPerBlock, depositAddresses } = figures;
  print();
  print(
    `Catching up ${blocks} checkpoints of SUI with ${transactionsPerBlock} payments, ${depositAddresses} deposit addresses, in turns with bare loops that fetch and decode the same checkpoints by the SDK's client, a hundred at once: B of two sources, C of one. Checkpoints/s (processor ms per checkpoint of the reading process).`,
  );
  printRounds(figures, print);
}

function printRounds(
  figures: Pick<
    SuiCatchUpFigures,
    | 'rounds'
    | 'twoSourcesToSame'
    | 'oneSourceToSame'
    | 'twoSourcesToSameByProcessor'
    | 'oneSourceToSameByProcessor'
  >,
  print: (line?: string) => void,
): void {
  print('| round | B | scanner 2 | C | scanner 1 |');
  print('|---|---|---|---|---|');
  figures.rounds.forEach((r, i) =>
    print(
      `| ${i + 1} | ${text(r.bareTwice)} | ${text(r.twoSources)} | ${text(r.bare)} | ${text(r.oneSource)} |`,
    ),
  );
  print(
    `| scanner / bare | | ${figures.twoSourcesToSame} of B, by processor ${figures.twoSourcesToSameByProcessor} | | ${figures.oneSourceToSame} of C, by processor ${figures.oneSourceToSameByProcessor} |`,
  );
  print('of B and of C: at least 0.7');
}

function text(run: CatchUpRun): string {
  return `${Math.round(run.blocksPerSecond)} (${run.processorMsPerBlock})`;
}
