import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Address } from '@opentill/chain/address-codec';
import type { TokenContract, TxHash } from '@opentill/chain/transfer';
import { startAnvil } from '@opentill/devnets/evm/anvil';
import { DEV_MNEMONIC } from '@opentill/devnets/evm/accounts';
import { reorg, setBlockTime } from '@opentill/devnets/evm/start-evm-devnet';
import { findFreePort } from '@opentill/test-servers/free-port';
import { callRpc } from '@opentill/devnets/evm/json-rpc';
import type { ChainHarness } from '@opentill/testkit/chain-harness';
import { compileLogEmitter, logsOf } from '@opentill/testkit/emitted-logs';
import { HDNodeWallet, getCreateAddress, hexlify, randomBytes } from 'ethers';
import { evmAddressCodec } from '../src/address.ts';
import type { EvmNetwork, EvmReaderDeps } from '../src/reader.ts';
import { createPatientReader } from './patient-reader.ts';

const CHAIN_ID = 11155111;
const FEE_WEI = 10n ** 11n;

export interface EvmHarness extends ChainHarness {
  readonly url: string;
  readonly network: EvmNetwork;
  rpc(method: string, ...params: unknown[]): Promise<unknown>;
}

/** Mines only on request. `stop` also removes its files. */
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

/** `deps` go to its reader, `overrides` into its network. */
export async function makeEvmHarness(
  overrides: Partial<EvmNetwork> = {},
  deps: EvmReaderDeps = {},
): Promise<EvmHarness> {
  const anvil = await startQuietAnvil();
  const rpc = (method: string, ...params: unknown[]): Promise<unknown> => callRpc(anvil.url, method, params);
  const emitter = compileLogEmitter();
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
  // Different accounts, so that a transaction that is sent again does not collide with its own nonce.
  const nextWallet = () => wallets[sent.size % wallets.length] ?? wallet;
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
    reader: createPatientReader(network, deps),
    tokens: [tokenA as TokenContract, tokenB as TokenContract],
    movements: ['transfer', 'fakeToken', 'malformed', 'otherEvent'],
    keyPair: {
      publicKey: Buffer.from(wallet.publicKey.slice(2), 'hex'),
      address: wallet.address.toLowerCase(),
    },
    ...ADDRESSES,
    newAddress: () => hexlify(randomBytes(20)) as Address,
    nextSender: () => nextWallet().address.toLowerCase() as Address,
    submit: (movements, options = {}) => {
      const logs = movements.flatMap((movement) => logsOf(movement, [tokenA, tokenB], fake, wallet.address));
      return send(
        nextWallet(),
        fake,
        emitter.abi.encodeFunctionData('emitAll', [logs, options.fails ?? false]),
      );
    },
    resubmit: async (txHash) => {
      await rpc('eth_sendRawTransaction', sent.get(txHash));
    },
    mine,
    reorg: (depth) => reorg({ rpcUrl: anvil.url, depth }),
    stop: anvil.stop,
  };
}

/** From EIP-55's test cases, and invalid variants of them. */
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
