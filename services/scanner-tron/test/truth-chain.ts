import { addressOfShortHex, shortHexOf } from '@opentill/chain-tron/address-codec';
import type { Address } from '@opentill/chain/address-codec';
import { tronArtifact, tronContractInterface } from '@opentill/devnets/tron/tron-artifacts';
import type { TronDevnet } from '@opentill/devnets/tron/start-tron-devnet';
import { seededRandom } from '@opentill/testkit/seeded-random';
import { waitUntil } from '@opentill/testkit/wait-until';
import type { Deposit } from '@opentill/testkit/transfer-audit';
import type { TruthChain as TruthChainOf } from '@opentill/testkit/truth-run';
import { TronWeb } from 'tronweb';

export type PaymentKind =
  | 'transfer'
  /** The call data has extra bytes after the arguments. */
  | 'withDataBehind'
  | 'ofNothing'
  /** One to three transfers in one transaction, sent by a contract from its balance. */
  | 'byContract'
  /** An event of a contract that is not a token. */
  | 'fakeToken'
  | 'reverted'
  | 'outOfEnergy'
  | 'trx';

/** Has payments to our addresses and transactions that only resemble them. */
export interface TruthChain extends TruthChainOf {
  /** Included in the next block. */
  send(kind: PaymentKind, to: string): Promise<void>;
  /** Sends one contract transaction with `times` transfers of a token to one address. */
  sendOwn(to: string, times: number): Promise<void>;
  /** Visible only as an internal transaction. Returns sun. */
  sendTrxByContract(to: string): Promise<bigint>;
  reorganise(depth: number, drop: boolean): Promise<void>;
  readonly sent: Readonly<Record<string, number>>;
}

interface Block {
  readonly blockID: string;
  readonly transactions?: readonly {
    readonly txID: string;
    readonly ret: readonly { readonly contractRet: string }[];
    readonly raw_data: {
      readonly contract: readonly {
        readonly type: string;
        readonly parameter: { readonly value: { readonly to_address: string; readonly amount: number } };
      }[];
    };
  }[];
}
interface Info {
  readonly id: string;
  readonly receipt: { readonly result?: string };
  readonly log?: readonly {
    readonly address: string;
    readonly topics: readonly string[];
    readonly data: string;
  }[];
}

const TRANSFER_TOPIC = 'ddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef';
const FEE_LIMIT_SUN = 1_000_000_000;
const TOO_LITTLE_SUN = 200_000;
const TRC20 = tronContractInterface('TronTether');
const MULTI = tronContractInterface('TronMulti');

export async function createTruthChain(devnet: TronDevnet, seed: number): Promise<TruthChain> {
  const random = seededRandom(seed);
  const below = (end: number): number => Math.floor(random() * end);
  const pick = <T>(items: readonly T[]): T => items[below(items.length)]!;
  const amount = (): bigint => BigInt(1 + below(1_000_000_000));
  const wallets = devnet.accounts.map(
    ({ privateKeyHex }) => new TronWeb({ fullHost: devnet.url, privateKey: privateKeyHex }),
  );
  const tokens = [devnet.tokens.USDT, devnet.tokens.USDC] as const;
  const ours: string[] = [];
  const sent: Record<string, number> = {};
  const evmForm = (address: string): string => `0x${shortHexOf(address as Address)}`;

  async function broadcast(wallet: TronWeb, transaction: object): Promise<void> {
    const signed = await wallet.trx.sign(transaction as Parameters<TronWeb['trx']['sign']>[0]);
    const answer = await wallet.trx.sendRawTransaction(signed as never);
    if (answer.result !== true) throw new Error(JSON.stringify(answer));
  }
  async function call(
    contract: string,
    data: string,
    feeLimit = FEE_LIMIT_SUN,
    callValueSun = 0n,
  ): Promise<void> {
    const wallet = pick(wallets);
    const owner = wallet.defaultAddress.hex as string;
    const options = { input: data.replace(/^0x/, ''), feeLimit, callValue: Number(callValueSun) };
    const { transaction } = await wallet.transactionBuilder.triggerSmartContract(
      contract,
      '',
      options,
      [],
      owner,
    );
    await broadcast(wallet, transaction);
  }
  const transferOf = (to: string): string => TRC20.encodeFunctionData('transfer', [evmForm(to), amount()]);

  async function deployMulti(): Promise<string> {
    const [wallet] = wallets as [TronWeb];
    const { abi, bytecode } = tronArtifact('TronMulti');
    const terms = { abi: abi as never, bytecode, feeLimit: FEE_LIMIT_SUN, originEnergyLimit: 10_000_000 };
    const made = await wallet.transactionBuilder.createSmartContract(
      terms,
      wallet.defaultAddress.hex as string,
    );
    await broadcast(wallet, made);
    await devnet.control.mine();
    return addressOfShortHex((made as unknown as { contract_address: string }).contract_address.slice(2))!;
  }
  const multi = await deployMulti();
  await devnet.control.fund(multi, { symbol: 'USDT', amountBaseUnits: 10n ** 12n });

  function sendOwn(to: string, times: number): Promise<void> {
    const all = Array.from({ length: times }, () => evmForm(to));
    return call(multi, MULTI.encodeFunctionData('sendOwn', [evmForm(tokens[0]), all, all.map(amount)]));
  }

  /** Only logs of successful transactions and TRX payments count as deposits. */
  const kinds: Readonly<Record<PaymentKind, (to: string) => Promise<void>>> = {
    transfer: (to) => call(pick(tokens), transferOf(to)),
    withDataBehind: (to) => call(tokens[0], `${transferOf(to)}${'ab'.repeat(40)}`),
    ofNothing: (to) => call(tokens[0], TRC20.encodeFunctionData('transfer', [evmForm(to), 0n])),
    byContract: (to) => sendOwn(to, 1 + below(3)),
    fakeToken: (to) => {
      const from = evmForm(devnet.accounts[0]!.address);
      return call(multi, MULTI.encodeFunctionData('fakeTransfer', [from, evmForm(to), amount()]));
    },
    reverted: (to) =>
      call(multi, MULTI.encodeFunctionData('sendAndRevert', [evmForm(tokens[0]), evmForm(to), amount()])),
    outOfEnergy: (to) => call(tokens[0], transferOf(to), TOO_LITTLE_SUN),
    trx: async (to) => {
      const wallet = pick(wallets);
      const owner = wallet.defaultAddress.hex as string;
      await broadcast(wallet, await wallet.transactionBuilder.sendTrx(to, Number(amount()), owner));
    },
  };
  const names = Object.keys(kinds) as PaymentKind[];

  async function post<T>(method: string, body: object): Promise<T> {
    const response = await fetch(`${devnet.url}/wallet/${method}`, {
      method: 'POST',
      body: JSON.stringify(body),
    });
    return (await response.json()) as T;
  }

  return {
    sent,
    addAddress: (address) => void ours.push(address),
    send: (kind, to) => kinds[kind](to),
    sendOwn,
    async sendTrxByContract(to) {
      const sun = amount();
      await call(multi, MULTI.encodeFunctionData('sendTrx', [[evmForm(to)], [sun]]), FEE_LIMIT_SUN, sun);
      return sun;
    },
    async produceBlock() {
      for (let left = 1 + below(4); left > 0; left -= 1) {
        const kind = random() < 0.35 ? 'transfer' : pick(names);
        await kinds[kind](pick(ours));
        sent[kind] = (sent[kind] ?? 0) + 1;
      }
      await devnet.control.mine();
    },
    async reorganise(depth, drop) {
      await devnet.control.reorganise(depth, { drop });
    },
    async truth() {
      const { head } = devnet.control.summary();
      await waitUntil('the pool is empty', () => devnet.control.summary().pending === 0);
      const mine = new Map(ours.map((address) => [evmForm(address).slice(2), address]));
      const byHex = new Map(tokens.map((token) => [evmForm(token).slice(2), token]));
      const deposits: Deposit[] = [];
      for (let height = 1; height <= head; height += 1) {
        const block = await post<Block>('getblockbynum', { num: height });
        const here = { height, block: block.blockID };
        for (const { id, receipt, log = [] } of await post<readonly Info[]>('gettransactioninfobyblocknum', {
          num: height,
        })) {
          if (receipt.result !== 'SUCCESS') continue;
          for (const [place, { address, topics, data }] of log.entries()) {
            const to = mine.get(topics[2]?.slice(24) ?? '');
            const token = byHex.get(address);
            const value = BigInt(`0x${data}`);
            if (topics[0] !== TRANSFER_TOPIC || to === undefined || token === undefined || value === 0n)
              continue;
            deposits.push({ ...here, tx: id, position: `log:${place}`, token, to, amount: `${value}` });
          }
        }
        for (const { txID, ret, raw_data: data } of block.transactions ?? []) {
          const { type, parameter } = data.contract[0]!;
          const to = type === 'TransferContract' ? mine.get(parameter.value.to_address.slice(2)) : undefined;
          if (to !== undefined && ret[0]!.contractRet === 'SUCCESS')
            deposits.push({
              ...here,
              tx: txID,
              position: 'value',
              token: null,
              to,
              amount: `${parameter.value.amount}`,
            });
        }
      }
      return deposits;
    },
  };
}
