import { Interface, type InterfaceAbi } from 'ethers';
import fakeToken from './artifacts/FakeToken.json' with { type: 'json' };
import gasPriceOracle from './artifacts/GasPriceOracle.json' with { type: 'json' };
import l1Block from './artifacts/L1Block.json' with { type: 'json' };
import tetherLike from './artifacts/TetherLike.json' with { type: 'json' };
import transferBatch from './artifacts/TransferBatch.json' with { type: 'json' };
import upgradedTether from './artifacts/UpgradedTether.json' with { type: 'json' };
import usdcLike from './artifacts/UsdcLike.json' with { type: 'json' };

const ARTIFACTS = {
  FakeToken: fakeToken,
  GasPriceOracle: gasPriceOracle,
  L1Block: l1Block,
  TetherLike: tetherLike,
  TransferBatch: transferBatch,
  UpgradedTether: upgradedTether,
  UsdcLike: usdcLike,
};

export type ContractName = keyof typeof ARTIFACTS;

const interfaces = new Map<ContractName, Interface>();

/** Parses each ABI once: that takes longer than encoding a call. */
export function contractInterface(name: ContractName): Interface {
  const known = interfaces.get(name);
  if (known !== undefined) return known;
  const parsed = new Interface(ARTIFACTS[name].abi as InterfaceAbi);
  interfaces.set(name, parsed);
  return parsed;
}

export function creationCode(name: ContractName, constructorArguments: readonly unknown[]): string {
  return ARTIFACTS[name].bytecode + contractInterface(name).encodeDeploy(constructorArguments).slice(2);
}
