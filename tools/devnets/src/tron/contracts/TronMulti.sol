// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

interface ISpendableToken {
    function transfer(address to, uint256 value) external returns (bool);
    function transferFrom(address from, address to, uint256 value) external returns (bool);
}

/// Actions of customers' wallets, exchanges and attackers in one transaction: several transfers, TRX sent by a
/// contract, and Transfer events of a contract that is not a token.
contract TronMulti {
    event Transfer(address indexed from, address indexed to, uint256 value);

    receive() external payable {}

    /// Sends TRX, which is visible only in internal transactions.
    function sendTrx(address payable[] calldata to, uint256[] calldata values) external payable {
        for (uint256 i = 0; i < to.length; i++) {
            (bool sent, ) = to[i].call{value: values[i]}("");
            require(sent);
        }
    }

    function sendFrom(address token, address[] calldata to, uint256[] calldata values) external {
        for (uint256 i = 0; i < to.length; i++) ISpendableToken(token).transferFrom(msg.sender, to[i], values[i]);
    }

    function sendOwn(address token, address[] calldata to, uint256[] calldata values) external {
        for (uint256 i = 0; i < to.length; i++) ISpendableToken(token).transfer(to[i], values[i]);
    }

    function fakeTransfer(address from, address to, uint256 value) external {
        emit Transfer(from, to, value);
    }

    /// Sends tokens, then reverts, so that its logs do not count.
    function sendAndRevert(address token, address to, uint256 value) external {
        ISpendableToken(token).transferFrom(msg.sender, to, value);
        revert("taken back");
    }
}
