// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

interface ISpendableToken {
    function transfer(address to, uint256 value) external returns (bool);
    function transferFrom(address from, address to, uint256 value) external returns (bool);
}

/// What a customer's wallet or an exchange may do in one transaction, and what a thief would like to: several
/// transfers at once, TRX sent by a contract, Transfer events of a contract that is no token.
contract TronMulti {
    event Transfer(address indexed from, address indexed to, uint256 value);

    receive() external payable {}

    /// TRX out of the contract: seen in internal transactions only.
    function sendTrx(address payable[] calldata to, uint256[] calldata values) external payable {
        for (uint256 i = 0; i < to.length; i++) {
            (bool sent, ) = to[i].call{value: values[i]}("");
            require(sent);
        }
    }

    /// Tokens of the caller, who has approved this contract.
    function sendFrom(address token, address[] calldata to, uint256[] calldata values) external {
        for (uint256 i = 0; i < to.length; i++) ISpendableToken(token).transferFrom(msg.sender, to[i], values[i]);
    }

    /// Tokens that the contract itself holds.
    function sendOwn(address token, address[] calldata to, uint256[] calldata values) external {
        for (uint256 i = 0; i < to.length; i++) ISpendableToken(token).transfer(to[i], values[i]);
    }

    /// The event of a token transfer, without a token.
    function fakeTransfer(address from, address to, uint256 value) external {
        emit Transfer(from, to, value);
    }

    /// Sends tokens and takes it back by failing: no log of it may count.
    function sendAndRevert(address token, address to, uint256 value) external {
        ISpendableToken(token).transferFrom(msg.sender, to, value);
        revert("taken back");
    }
}
