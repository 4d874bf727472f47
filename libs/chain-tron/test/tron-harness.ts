import { randomBytes } from 'node:crypto';
import type { Address } from '@opentill/chain/address-codec';
import type { TokenContract, TxHash } from '@opentill/chain/transfer';
import type { TronDevnet, TronDevnetOptions } from '@opentill/devnets/tron/start-tron-devnet';
import { startTronDevnet } from '@opentill/devnets/tron/start-tron-devnet';
import type { ChainHarness, Movement } from '@opentill/testkit/chain-harness';
import { compileLogEmitter, logsOf } from '@opentill/testkit/emitted-logs';
import { pointFromScalar } from 'tiny-secp256k1';
import { TronWeb } from 'tronweb';
import { addressOfShortHex, shortHexOf, tronAddressCodec } from '../src/address-codec.ts';
import type { TronNetwork, TronReaderDeps } from '../src/reader.ts';
import { createTronReader } from '../src/reader.ts';

const FEE_LIMIT_SUN = 1_000_000_000;
const SOLID_LAG_BLOCKS = 3;

export interface TronHarness extends ChainHarness {
  readonly devnet: TronDevnet;
  readonly network: TronNetwork;
  readonly wallets: readonly TronWeb[];
}

export function networkOf(
  devnet: Pick<TronDevnet, 'chainId' | 'url'>,
  tokens: readonly string[],
  overrides: Partial<TronNetwork> = {},
): TronNetwork {
  const terms = { decimals: 6, displayDecimals: 2, minAmount: null, maxAmount: null };
  return {
    chain: 'TRON_TEST',
    genesisId: devnet.chainId,
    rpcUrls: [devnet.url],
    blockTimeMs: 3_000,
    tokens: tokens.map((contract, place) => ({ symbol: ['USDT', 'USDC'][place]!, contract, ...terms })),
    ...overrides,
  };
}

export function walletsOf({ accounts, url }: Pick<TronDevnet, 'accounts' | 'url'>): readonly TronWeb[] {
  return accounts.map(({ privateKeyHex }) => new TronWeb({ fullHost: url, privateKey: privateKeyHex }));
}

/** `deps` go to the reader, `overrides` into the network. */
export async function makeTronHarness(
  overrides: Partial<TronNetwork> = {},
  deps: TronReaderDeps = {},
  options: Partial<TronDevnetOptions> = {},
): Promise<TronHarness> {
  const devnet = await startTronDevnet({ blockTimeMs: 0, solidLagBlocks: SOLID_LAG_BLOCKS, ...options });
  const wallets = walletsOf(devnet);
  const [deployer] = wallets as [TronWeb];
  const emitter = compileLogEmitter();
  const sent = new Map<TxHash, object>();

  async function send(wallet: TronWeb, transaction: object): Promise<TxHash> {
    const signed = await wallet.trx.sign(transaction as Parameters<TronWeb['trx']['sign']>[0]);
    const answer = await wallet.trx.sendRawTransaction(signed as never);
    if (answer.result !== true) throw new Error(JSON.stringify(answer));
    const txHash = (signed as unknown as { txID: TxHash }).txID;
    sent.set(txHash, signed as unknown as object);
    return txHash;
  }
  const nextWallet = () => wallets[sent.size % wallets.length]!;
  async function mine(): Promise<number> {
    return (await devnet.control.mine()).head;
  }
  async function deploy(): Promise<Address> {
    const transaction = await deployer.transactionBuilder.createSmartContract(
      {
        abi: JSON.parse(emitter.abi.formatJson()) as never,
        bytecode: emitter.bytecode.slice(2),
        feeLimit: FEE_LIMIT_SUN,
        userFeePercentage: 100,
        originEnergyLimit: 10_000_000,
      },
      deployer.defaultAddress.hex as string,
    );
    await send(deployer, transaction);
    await mine();
    return addressOfShortHex(
      (transaction as unknown as { contract_address: string }).contract_address.slice(2),
    )!;
  }

  const contracts = [await deploy(), await deploy(), await deploy()] as const;
  const [tokenA, tokenB, fake] = contracts.map((address) => `0x${shortHexOf(address)}`) as [
    string,
    string,
    string,
  ];
  const network = networkOf(devnet, contracts.slice(0, 2), overrides);
  const shortOf = (movement: Movement): Movement => ({
    ...movement,
    ...('to' in movement ? { to: `0x${shortHexOf(movement.to)}` as Address } : {}),
    ...('from' in movement && movement.from !== undefined
      ? { from: `0x${shortHexOf(movement.from)}` as Address }
      : {}),
  });

  return {
    devnet,
    network,
    wallets,
    codec: tronAddressCodec,
    reader: createTronReader(network, { requestTimeoutMs: 20_000, ...deps }),
    tokens: [contracts[0] as string as TokenContract, contracts[1] as string as TokenContract],
    movements: ['transfer', 'fakeToken', 'malformed', 'otherEvent'],
    keyPair: {
      publicKey: pointFromScalar(Buffer.from(devnet.accounts[0]!.privateKeyHex, 'hex'), true)!,
      address: devnet.accounts[0]!.address,
    },
    ...ADDRESSES,
    newAddress: () => addressOfShortHex(randomBytes(20).toString('hex'))!,
    nextSender: () => nextWallet().defaultAddress.base58 as Address,
    submit: async (movements, { fails = false } = {}) => {
      const wallet = nextWallet();
      const payer = `0x${(wallet.defaultAddress.hex as string).slice(2)}`;
      const logs = movements.flatMap((movement) => logsOf(shortOf(movement), [tokenA, tokenB], fake, payer));
      const input = emitter.abi.encodeFunctionData('emitAll', [logs, fails]).slice(2);
      const { transaction } = await wallet.transactionBuilder.triggerSmartContract(
        contracts[2],
        '',
        { input, feeLimit: FEE_LIMIT_SUN },
        [],
        wallet.defaultAddress.hex as string,
      );
      return send(wallet, transaction);
    },
    resubmit: async (txHash) => {
      await deployer.trx.sendRawTransaction(sent.get(txHash) as never);
    },
    mine,
    settle: async () => {
      await devnet.control.mine(options.solidLagBlocks ?? SOLID_LAG_BLOCKS);
    },
    reorg: async (depth) => {
      await devnet.control.reorganise(depth, { drop: true, blocks: depth });
    },
    stop: () => devnet.close(),
  };
}

const USDT = 'TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t';
const ADDRESSES: Pick<ChainHarness, 'acceptedAddresses' | 'refusedAddresses'> = {
  acceptedAddresses: [
    [USDT, USDT],
    ['TUEZSdKsoDHQMeZwihtdoBiN46zxhGWYdH', 'TUEZSdKsoDHQMeZwihtdoBiN46zxhGWYdH'],
    ['TXYZopYRdj2D9XRtbG411XZZ3kM5VkAeBf', 'TXYZopYRdj2D9XRtbG411XZZ3kM5VkAeBf'],
  ],
  refusedAddresses: [
    '41a614f803b6fd780986a42c78ec9c7f77e6ded13c',
    'a614f803b6fd780986a42c78ec9c7f77e6ded13c',
    '0xa614f803b6fd780986a42c78ec9c7f77e6ded13c',
    'TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6T',
    'tR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t',
    ` ${USDT}`,
    `${USDT}\n`,
    `${USDT}t`,
    USDT.slice(0, -1),
    'T9yD14Nj9j7xAB4dbGeiX9h8unkKHxuWwb',
    '1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa',
  ],
};
