import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Address } from '@opentill/chain/address-codec';
import type { TokenContract, TxHash } from '@opentill/chain/transfer';
import { startAnvil } from '@opentill/devnet/anvil';
import { DEV_MNEMONIC } from '@opentill/devnet/evm-accounts';
import { reorg, setBlockTime } from '@opentill/devnet/evm-devnet';
import { findFreePort } from '@opentill/devnet/free-port';
import { callRpc } from '@opentill/devnet/json-rpc';
import type { ChainHarness, Movement } from '@opentill/testkit/chain-harness';
import {
  HDNodeWallet,
  Interface,
  getCreateAddress,
  hexlify,
  randomBytes,
  toBeHex,
  zeroPadValue,
} from 'ethers';
import { evmAddressCodec } from '../src/address.ts';
import { TRANSFER_TOPIC } from '../src/decode.ts';
import type { EvmNetwork, EvmReaderDeps } from '../src/reader.ts';
import { createEvmReader } from '../src/reader.ts';

export const CHAIN_ID = 11155111;
/** keccak256("Approval(address,address,uint256)"). */
const APPROVAL_TOPIC = '0x8c5be1e5ebec7d5bd14f71427d1e84f3dd0314c0f7b2291e5b200ac8c7c3b925';
const FEE_WEI = 10n ** 11n;

/** anvil with no block but those that are asked for, and a reader on it. */
export interface EvmHarness extends ChainHarness {
  readonly url: string;
  readonly network: EvmNetwork;
  /** Calls the node directly. */
  rpc(method: string, ...params: unknown[]): Promise<unknown>;
}

/** What the log emitter is told to emit: by whom, with which topics and data. */
interface EmittedLog {
  readonly at: string;
  readonly topics: readonly string[];
  readonly data: string;
}

function compileEmitter(): { abi: Interface; bytecode: string } {
  const require = createRequire(import.meta.url);
  const solc = require('solc') as { compile(input: string): string };
  const content = readFileSync(`${import.meta.dirname}/log-emitter.sol`, 'utf8');
  const settings = { evmVersion: 'paris', outputSelection: { '*': { '*': ['abi', 'evm.bytecode.object'] } } };
  const output = JSON.parse(
    solc.compile(
      JSON.stringify({ language: 'Solidity', sources: { 'log-emitter.sol': { content } }, settings }),
    ),
  ) as {
    errors?: unknown;
    contracts: Record<string, Record<string, { abi: []; evm: { bytecode: { object: string } } }>>;
  };
  const contract = output.contracts['log-emitter.sol']?.['LogEmitter'];
  if (contract === undefined) throw new Error(JSON.stringify(output.errors));
  return { abi: new Interface(contract.abi), bytecode: `0x${contract.evm.bytecode.object}` };
}

/** anvil with no block but those that are asked for. `stop` leaves nothing of it. */
async function startQuietAnvil(): Promise<{ url: string; stop: () => Promise<void> }> {
  const dir = await mkdtemp(join(tmpdir(), 'chain-evm-'));
  const anvil = await startAnvil({ dir, port: await findFreePort(), chainId: CHAIN_ID, slotsInAnEpoch: 2 });
  await setBlockTime(anvil.rpcUrl, 0);
  return {
    url: anvil.rpcUrl,
    stop: async () => {
      await anvil.stop('kill');
      await rm(dir, { recursive: true });
    },
  };
}

const word = (address: string): string => zeroPadValue(address, 32);
const amountWord = (amount: bigint): string => toBeHex(amount, 32);

function logsOf(
  movement: Movement,
  tokens: readonly [string, string],
  fake: string,
  payer: string,
): readonly EmittedLog[] {
  switch (movement.kind) {
    case 'transfer': {
      const topics = [TRANSFER_TOPIC, word(movement.from ?? payer), word(movement.to)];
      return [{ at: tokens[movement.token], topics, data: amountWord(movement.amount) }];
    }
    case 'fakeToken':
      return [
        {
          at: fake,
          topics: [TRANSFER_TOPIC, word(payer), word(movement.to)],
          data: amountWord(movement.amount),
        },
      ];
    case 'malformed': {
      const topics = [TRANSFER_TOPIC, word(payer), word(movement.to)];
      return [
        // An NFT's transfer, a transfer without and with half an amount, with too much data, and without a recipient.
        { at: tokens[0], topics: [...topics, amountWord(7n)], data: '0x' },
        { at: tokens[0], topics, data: '0x' },
        { at: tokens[0], topics, data: amountWord(7n).slice(0, 34) },
        { at: tokens[0], topics, data: `${amountWord(7n)}${amountWord(7n).slice(2)}` },
        { at: tokens[0], topics: topics.slice(0, 2), data: amountWord(7n) },
        {
          at: tokens[0],
          topics: [TRANSFER_TOPIC],
          data: `${word(payer)}${word(movement.to).slice(2)}${amountWord(7n).slice(2)}`,
        },
        {
          at: tokens[0],
          topics: [TRANSFER_TOPIC, word(payer), amountWord(2n ** 255n)],
          data: amountWord(7n),
        },
      ];
    }
    case 'otherEvent':
      return [{ at: tokens[0], topics: [APPROVAL_TOPIC, word(payer), word(fake)], data: amountWord(7n) }];
  }
}

/** The harness of the chain contract on anvil. `deps` go to its reader, `rpcUrls` and `bloom` into the network. */
export async function makeEvmHarness(
  overrides: Partial<EvmNetwork> = {},
  deps: EvmReaderDeps = {},
): Promise<EvmHarness> {
  const anvil = await startQuietAnvil();
  const rpc = (method: string, ...params: unknown[]): Promise<unknown> => callRpc(anvil.url, method, params);
  const emitter = compileEmitter();
  const root = HDNodeWallet.fromPhrase(DEV_MNEMONIC, undefined, "m/44'/60'/0'/0");
  const wallets = Array.from({ length: 10 }, (_, index) => root.deriveChild(index));
  const wallet = root.deriveChild(0);
  const sent = new Map<TxHash, string>();

  async function send(wallet: HDNodeWallet, to: string | null, data: string): Promise<TxHash> {
    const nonce = Number(await rpc('eth_getTransactionCount', wallet.address, 'pending'));
    const fees = { maxFeePerGas: FEE_WEI, maxPriorityFeePerGas: 1n };
    const raw = await wallet.signTransaction({
      type: 2,
      chainId: CHAIN_ID,
      nonce,
      to,
      data,
      gasLimit: 3_000_000,
      ...fees,
    });
    const txHash = (await rpc('eth_sendRawTransaction', raw)) as TxHash;
    sent.set(txHash, raw);
    return txHash;
  }
  async function mine(): Promise<number> {
    await rpc('evm_mine');
    return Number(await rpc('eth_blockNumber'));
  }

  const [tokenA, tokenB, fake] = [0, 1, 2].map((nonce) =>
    getCreateAddress({ from: wallet.address, nonce }).toLowerCase(),
  ) as [string, string, string];
  for (let count = 0; count < 3; count += 1) await send(wallet, null, emitter.bytecode);
  await mine();
  const token = (symbol: string, contract: string): EvmNetwork['tokens'][number] => ({
    symbol,
    contract,
    decimals: 6,
    displayDecimals: 2,
    minAmount: null,
    maxAmount: null,
  });
  const network: EvmNetwork = {
    chain: 'ETH_SEPOLIA',
    chainId: CHAIN_ID,
    rpcUrls: [anvil.url],
    bloom: true,
    blockTimeMs: 1_000,
    maxBlockRange: 1_000,
    tokens: [token('USDT', evmAddressCodec.format(tokenA as Address)), token('USDC', tokenB)],
    ...overrides,
  };

  return {
    url: anvil.url,
    network,
    rpc,
    codec: evmAddressCodec,
    reader: createEvmReader(network, deps),
    tokens: [tokenA as TokenContract, tokenB as TokenContract],
    movements: ['transfer', 'fakeToken', 'malformed', 'otherEvent'],
    keyPair: {
      publicKey: Buffer.from(wallet.publicKey.slice(2), 'hex'),
      address: wallet.address.toLowerCase(),
    },
    ...ADDRESSES,
    newAddress: () => hexlify(randomBytes(20)) as Address,
    submit: (movements, options = {}) => {
      const logs = movements.flatMap((movement) => logsOf(movement, [tokenA, tokenB], fake, wallet.address));
      // Another account each time: a transaction sent again must not meet its own nonce.
      const sender = wallets[sent.size % wallets.length] ?? wallet;
      return send(sender, fake, emitter.abi.encodeFunctionData('emitAll', [logs, options.fails ?? false]));
    },
    resubmit: async (txHash) => {
      await rpc('eth_sendRawTransaction', sent.get(txHash));
    },
    mine,
    reorg: (depth) => reorg({ rpcUrl: anvil.url, depth }),
    stop: anvil.stop,
  };
}

/** From EIP-55's own test cases, and mistakes in them. */
const ADDRESSES: Pick<ChainHarness, 'acceptedAddresses' | 'refusedAddresses'> = {
  acceptedAddresses: [
    ['0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed', '0x5aaeb6053f3e94c9b9a09f33669435e7ef1beaed'],
    ['0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359', '0xfb6916095ca1df60bb79ce92ce3ea74c37c5d359'],
    ['0x52908400098527886E0F7030069857D2E4169EE7', '0x52908400098527886e0f7030069857d2e4169ee7'],
    ['0xde709f2102306220921060314715629080e2fb77', '0xde709f2102306220921060314715629080e2fb77'],
    ['0x5AAEB6053F3E94C9B9A09F33669435E7EF1BEAED', '0x5aaeb6053f3e94c9b9a09f33669435e7ef1beaed'],
    ['0x0000000000000000000000000000000000000001', '0x0000000000000000000000000000000000000001'],
  ],
  refusedAddresses: [
    '0x5AAeb6053F3E94C9b9A09f33669435E7Ef1BeAed',
    '0x5aaeb6053F3E94C9b9A09f33669435E7Ef1BeAed',
    '0x0000000000000000000000000000000000000000',
    '5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed',
    '0X5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed',
    '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAe',
    '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAedd',
    '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAeg',
    ' 0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed',
    '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed\n',
    'XE7338O073KYGTWWZN0F2WZ0R8PX5ZPPZS',
    'TWer2Ygk5TEheHp3TPuYeqxmB6SsGZmaL6',
  ],
};
