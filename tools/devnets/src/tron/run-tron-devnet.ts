import { parseArgs } from 'node:util';
import { COMMON_OPTIONS, commonOptionsOf, wholeNumber } from '../devnet-arguments.ts';
import { startTronDevnet, type TronDevnet, type TronDevnetOptions } from './start-tron-devnet.ts';

const USAGE = `Usage: opentill devnet tron [options]   (and: opentill devnet sui --help)

A TRON node with a chain of its own, for TronWeb and for anything that speaks java-tron's HTTP API.

  --port <port>            default 9090
  --host <address>         default 127.0.0.1; the accounts' keys are public
  --block-time-ms <ms>     default 3000; 0: a block only by POST /devnet/mine
  --solid-lag <blocks>     how far the solidified block is behind; default 18
  --state <file>           goes on with the chain in this file, and writes it when stopped
  --seed <text>            names accounts, tokens and the chain; the same seed gives the same
`;

const DEFAULT_PORT = 9090;
const DEFAULT_BLOCK_TIME_MS = 3000;

/** Returns a text to print if the arguments are invalid or ask for help. */
export function readDevnetArguments(args: readonly string[]): TronDevnetOptions | string {
  const [kind, ...rest] = args;
  if (kind !== 'tron') return USAGE;
  try {
    const { values } = parseArgs({
      args: rest,
      options: {
        ...COMMON_OPTIONS,
        'block-time-ms': { type: 'string' },
        'solid-lag': { type: 'string' },
      },
    });
    if (values.help === true) return USAGE;
    const solidLag = values['solid-lag'];
    return {
      ...commonOptionsOf(values, DEFAULT_PORT),
      blockTimeMs: wholeNumber('--block-time-ms', values['block-time-ms']) ?? DEFAULT_BLOCK_TIME_MS,
      ...(solidLag === undefined ? {} : { solidLagBlocks: wholeNumber('--solid-lag', solidLag) ?? 0 }),
    };
  } catch (error) {
    return `${error instanceof Error ? error.message : String(error)}\n\n${USAGE}`;
  }
}

export async function runTronDevnet(
  options: TronDevnetOptions,
  print: (line: string) => void,
): Promise<TronDevnet> {
  const devnet = await startTronDevnet(options);
  print(`TRON devnet   ${devnet.url}   (wallet/, walletsolidity/, jsonrpc, devnet/)`);
  print(`chain id      ${devnet.chainId}`);
  for (const [symbol, address] of Object.entries(devnet.tokens)) print(`${symbol}          ${address}`);
  print('accounts, each with 100 million TRX and a billion of each token (their keys are public):');
  for (const { address, privateKeyHex } of devnet.accounts) print(`  ${address}  ${privateKeyHex}`);
  print('send tokens to an address:');
  print(
    `  curl -s ${devnet.url}/devnet/fund -d '{"address":"T…","trxSun":"10000000","symbol":"USDT","amountBaseUnits":"5000000"}'`,
  );
  return devnet;
}
